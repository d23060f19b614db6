import base64, sys
from snippet import verify_body, verify_message

for line in sys.stdin:
    scheme, secret, body, *headers = [None if cell == "-" else cell for cell in line.rstrip("\n").split("\t")]
    verify = verify_body if scheme == "body" else verify_message
    print("true" if verify(secret, base64.b64decode(body), *headers) else "false")
