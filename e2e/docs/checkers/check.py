import base64, sys
from snippet import verify_body, verify_message, verify_with_key

FUNCTIONS = {"body": verify_body, "message": verify_message, "key": verify_with_key}

for line in sys.stdin:
    scheme, secret, body, *headers = [None if cell == "-" else cell for cell in line.rstrip("\n").split("\t")]
    print("true" if FUNCTIONS[scheme](secret, base64.b64decode(body), *headers) else "false")
