#!/bin/bash
# torch without CUDA (200 MB, not 2.5 GB); where that index cannot be reached, plain torch.
TORCH="torch==2.13.0"
PYTHON="${PYTHON:-python}"
CPU=(--index-url https://download.pytorch.org/whl/cpu --retries 0 --timeout 15)
"$PYTHON" -m pip install --quiet "${CPU[@]}" "$TORCH" || "$PYTHON" -m pip install --quiet "$TORCH"
