"""The address of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional
from urllib.parse import SplitResult, urlsplit


@dataclass(frozen=True)
class BaseUrl:
    is_https: bool
    host: str
    port: Optional[int]
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.is_https else 'http'}://{host}{port}{self.path}"


def parse_base_url(text: str) -> BaseUrl:
    """Raises ValueError if the text is not a base URL.

    The message does not repeat the text, which may have a password in it.
    """
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except (ValueError, AttributeError):
        raise ValueError("base_url is not a URL such as https://webhooks.example.com.") from None
    if url.scheme not in ("http", "https") or not host or not _is_plain(text):
        raise ValueError("base_url must be an absolute URL such as https://webhooks.example.com.")
    if _has_more(url):
        raise ValueError("base_url must have no user, query or fragment: the key is given as api_key.")
    path = url.path.rstrip("/")
    if path.endswith("/v1"):
        raise ValueError("base_url must not have /v1 at its end: paths bring it along.")
    return BaseUrl(url.scheme == "https", host, port, path)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _has_more(url: SplitResult) -> bool:
    return "@" in url.netloc or url.query != "" or url.fragment != ""
