"""One thread, for the numbers are small; and a place to note the differences."""

import pytest
import torch

from tests.parity.record import report


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter):
    report(terminalreporter.write_line)
