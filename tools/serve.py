"""Serve the built book on loopback, gzipped as a real host would, with its 404 page.

``python tools/serve.py [FOLDER]`` takes a free port and prints the address; tests and the audit use
:func:`serving`.
"""

import argparse
import gzip
import os
import posixpath
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
TEXT = {".html", ".css", ".js", ".mjs", ".json", ".svg", ".xml", ".txt", ".ipynb"}


@lru_cache(maxsize=512)
def packed(path: str, _modified: int) -> bytes:
    """Return a file gzipped; the second argument makes a changed file a new one."""
    return gzip.compress(Path(path).read_bytes(), compresslevel=9, mtime=0)


class Handler(SimpleHTTPRequestHandler):
    """Static files: gzip for text, 404.html for what is not there, no log."""

    protocol_version = "HTTP/1.1"
    extensions_map: ClassVar[dict[str, str]] = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".woff2": "font/woff2",
        ".ipynb": "application/x-ipynb+json",
    }

    def do_GET(self) -> None:
        """Answer with the file."""
        self.answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer with the headers only."""
        self.answer(with_body=False)

    def answer(self, with_body: bool) -> None:
        """Send a file, or the 404 page."""
        path, status = Path(self.translate_path(self.path)), HTTPStatus.OK
        if path.is_dir():
            url_path = posixpath.normpath(self.path.split("?")[0].split("#")[0])
            if not self.path.split("?")[0].endswith("/"):
                self.send_response(HTTPStatus.MOVED_PERMANENTLY)
                self.send_header("Location", url_path + "/")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path = path / "index.html"
        if not path.is_file():
            path, status = Path(self.directory) / "404.html", HTTPStatus.NOT_FOUND
        if not path.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        zipped = path.suffix in TEXT and "gzip" in self.headers.get("Accept-Encoding", "")
        body = packed(str(path), path.stat().st_mtime_ns) if zipped else path.read_bytes()
        self.send_response(status)
        kind = self.guess_type(str(path))
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if path.suffix in TEXT else kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server that a browser may leave at any moment."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that the browser closed."""
        if not isinstance(sys.exception(), (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


def start(folder: Path = SITE, port: int = 0) -> Server:
    """Return a server on loopback; port 0 takes a free one."""
    return Server(("127.0.0.1", port), partial(Handler, directory=os.fspath(folder)))


@contextmanager
def serving(folder: Path = SITE) -> Iterator[str]:
    """Serve a folder while the block runs; give its address, with the closing slash."""
    server = start(folder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    """Serve until the reader has had enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SITE)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    arguments = parser.parse_args()
    if not (arguments.folder / "index.html").is_file():
        sys.exit(f"{arguments.folder} holds no built book; run `make html` first.")
    server = start(arguments.folder, arguments.port)
    print(f"\n  The book is open at  http://127.0.0.1:{server.server_port}/\n", flush=True)
    print("  Ctrl+C closes it.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
