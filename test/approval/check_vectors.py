"""Checks docs/approval-vectors.json without a line of Holdfast: it was written from docs/security.md alone, to show that
another language gets the same forms, hashes and signatures. It prints one line for each vector that differs."""
import base64
import hashlib
import json
import sys

MAX_DEPTH = 64
SAFE = 2**53 - 1


class Refused(Exception):
    pass


def number(value):
    """ECMAScript's form: the same shortest digits as Python's, with the exponent written in another way."""
    if isinstance(value, int):
        value_as_double = float(value) if abs(value) < 10**400 else float("inf")
    else:
        value_as_double = value
    if value_as_double in (float("inf"), float("-inf")) or value_as_double != value_as_double:
        raise Refused("too large")
    if value_as_double == int(value_as_double):
        if abs(int(value_as_double)) > SAFE or (isinstance(value, int) and abs(value) > SAFE):
            raise Refused("not a safe integer")
        return str(int(value_as_double))
    sign = "-" if value_as_double < 0 else ""
    mantissa, _, exponent = repr(abs(value_as_double)).partition("e")
    whole, _, rest = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + rest
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    shift = point - 1
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return sign + digits[0] + fraction + "e" + ("+" if shift > 0 else "-") + str(abs(shift))


ESCAPES = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def text(value):
    if any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        raise Refused("half of a surrogate pair")
    escaped = (ESCAPES.get(ord(c)) or ("\\u%04x" % ord(c) if ord(c) < 32 else c) for c in value)
    return '"' + "".join(escaped) + '"'


def canonical(value, depth=0):
    if depth > MAX_DEPTH:
        raise Refused("too deep")
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(one, depth + 1) for one in value) + "]"
    for key in value:
        text(key)
        if key == "__proto__":
            raise Refused("__proto__")
    keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(text(key) + ":" + canonical(value[key], depth + 1) for key in keys) + "}"


def once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("a key twice")
    return found


def no_constant(name):
    raise Refused(name)


def parse(given):
    if given.startswith("\ufeff"):
        raise Refused("a byte order mark")
    try:
        return json.loads(given, object_pairs_hook=once, parse_constant=no_constant)
    except ValueError as error:
        raise Refused(str(error))


# Ed25519, from its equations: slow, but nothing has to be installed.
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493


def add(a, b):
    (x1, y1), (x2, y2) = a, b
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def times(count, point):
    total = (0, 1)
    while count:
        if count & 1:
            total = add(total, point)
        point = add(point, point)
        count >>= 1
    return total


def point_of(encoded):
    y = int.from_bytes(encoded, "little")
    wants_odd = y >> 255
    y &= 2**255 - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        raise Refused("not a point")
    return (P - x if x & 1 != wants_odd else x), y


BASE = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(public_key, message, signature):
    commitment, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(commitment + public_key + message).digest(), "little") % ORDER
    return times(scalar, BASE) == add(point_of(commitment), times(challenge, point_of(public_key)))


def sha256(domain, form):
    return hashlib.sha256((domain + form).encode("utf-8")).hexdigest()


def failures(vectors):
    for one in vectors["canonical"]:
        if canonical(parse(one["json"])) != one["canonical"]:
            yield "canonical", one["name"]
    for one in vectors["refused"]:
        try:
            canonical(parse(one["json"]))
            yield "refused", one["name"]
        except Refused:
            pass
    for one in vectors["declarations"]:
        form = canonical({"input": one["input"], "declaration": one["declaration"]})
        if sha256("holdfast-declaration-v1\n", form) != one["hash"]:
            yield "declarations", one["name"]
    for one in vectors["actions"]:
        form = canonical(one["action"])
        if form != one["canonical"] or sha256("holdfast-action-v1\n", form) != one["fingerprint"]:
            yield "actions", one["name"]
    for one in vectors["grants"]:
        terms = {key: value for key, value in one["grant"].items() if key != "signature"}
        signed = "holdfast-grant-v1\n" + canonical(terms)
        key, signature = base64.b64decode(one["publicKey"]), base64.b64decode(one["grant"]["signature"])
        if signed != one["signed"] or not is_signed(key, signed.encode("utf-8"), signature):
            yield "grants", one["name"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    bad = list(failures(vectors))
    for kind, name in bad:
        print(f"{kind}: {name}")
    print("checked", sum(len(list_of) for list_of in vectors.values()))
    sys.exit(1 if bad else 0)


main()
