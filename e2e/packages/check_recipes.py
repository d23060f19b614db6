"""Runs the recipes of the Python package's README in their frameworks. Arguments: a folder with flask.py and so on.

Prints `<framework> <status of a good request> <status of a forged one>` for each.
"""

import asyncio
import base64
import hashlib
import hmac
import io
import os
import runpy
import sys
import time

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"type":"brief.created","data":{"title":"\\u00fc  1.0"}}'


def signed_headers(body):
    key, at = base64.b64decode(SECRET[6:]), str(int(time.time()))
    signature = hmac.new(key, b"evt_1." + at.encode() + b"." + body, hashlib.sha256).digest()
    value = "v1," + base64.b64encode(signature).decode()
    return {"webhook-id": "evt_1", "webhook-timestamp": at, "webhook-signature": value}


def ask_wsgi(application, path, body, headers):
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": "application/json",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
    }
    environ.update({f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()})
    said = []
    list(application(environ, lambda status, headers, *_: said.append(status)))
    return int(said[0].split()[0])


def ask_asgi(application, path, body, headers):
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http"}
    scope.update({"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": pairs})
    sent = []

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    asyncio.run(application(scope, receive, send))
    return sent[0]["status"]


def django_application(view):
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.urls import path

    middleware = ["django.middleware.csrf.CsrfViewMiddleware"]
    settings.configure(ALLOWED_HOSTS=["*"], SECRET_KEY="x", ROOT_URLCONF=__name__, MIDDLEWARE=middleware)
    globals()["urlpatterns"] = [path("hook", view)]
    return get_wsgi_application()


def main(folder):
    os.environ["WEBHOOK_SECRET"] = SECRET
    recipes = {name: runpy.run_path(os.path.join(folder, f"{name}_recipe.py")) for name in ("flask", "django", "fastapi")}
    applications = {
        "flask": (ask_wsgi, recipes["flask"]["app"], "/hook"),
        "django": (ask_wsgi, django_application(recipes["django"]["hook"]), "/hook"),
        "fastapi": (ask_asgi, recipes["fastapi"]["app"], "/hook/"),
    }
    for name, (ask, application, path) in applications.items():
        good = ask(application, path, BODY, signed_headers(BODY))
        forged = ask(application, path, BODY + b" ", signed_headers(BODY))
        print(name, good, forged)


main(sys.argv[1])
