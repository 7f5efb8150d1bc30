# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A second reader of the record, written from its description and not from aegis: what the tests hold aegis's own
verifier against. It checks everything but the signatures (the standard library has no Ed25519)."""

import hashlib
import json
import re

HEX = re.compile(r"[0-9a-f]{64}")
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SIGNED = ("open", "outcome", "decision", "close")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def frame_digest(frame):
    """What request_digest and response_digest are taken over."""
    return digest(frame[:-1] if frame.endswith(b"\n") else frame)


PASSTHROUGH = digest(b"aegis-wrap-passthrough-v0")


class Line(dict):
    """A Line's members, with its bytes."""

    raw = b""


def read(path):
    with open(path, "rb") as file:
        return parse(file.read())


def parse(data):
    lines = []
    for raw in data.split(b"\n"):
        if not raw:
            continue
        line = Line(json.loads(raw))
        line.raw = raw
        lines.append(line)
    return lines


def of_type(lines, kind):
    return [line for line in lines if line["line_type"] == kind]


def intents(lines):
    return of_type(lines, "intent")


def outcomes(lines):
    return of_type(lines, "outcome")


def outcome_of(lines, frame, nth=0):
    """The nth outcome of a call that was made by this frame."""
    wanted = frame_digest(frame)
    return [line for line in outcomes(lines) if line["request_digest"] == wanted][nth]


def canonical(value):
    # All member names are ASCII or the emitter's, so code point order is UTF-16 order here.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def faults(lines):
    """Everything that record.md forbids in a record of aegis's own, in words; empty for a good one."""
    found = []
    session = []
    for line in lines:
        if line["line_type"] == "open" and session:
            found += session_faults(session)
            session = []
        session.append(line)
    return found + session_faults(session)


def session_faults(lines):
    found = []
    previous = "0" * 64
    for seq, line in enumerate(lines):
        kind = line["line_type"]
        say = lambda what, seq=seq, kind=kind: found.append(f"seq {seq} ({kind}): {what}")
        if line.raw != canonical(line):
            say("its bytes are not its canonical form")
        if line["schema_version"] != 2 or line["seq"] != seq or line["prev_hash"] != previous:
            say("schema_version, seq or prev_hash is wrong")
        if not AT.fullmatch(line.get("at", "")):
            say("no time")
        if len(line.raw) > 65536:
            say("longer than 64 KiB")
        if ("signature" in line) != (kind in SIGNED) or ("key_id" in line) != (kind in SIGNED):
            say("signed where it should not be, or not signed")
        previous = digest(line.raw)
    return found + open_faults(lines[0]) + pairing_faults(lines)


def open_faults(line):
    if line["line_type"] != "open":
        return ["the session does not start with open"]
    found = []
    if line.get("profile") != "aegis/1":
        found.append("open: profile is not aegis/1")
    if not re.fullmatch(r"[0-9a-f]{32}", line.get("session_id", "")):
        found.append("open: session_id is not 128 bits in hex")
    if line["key_id"] != digest(bytes.fromhex(line["public_key"])):
        found.append("open: key_id is not the public key's digest")
    return found


def pairing_faults(lines):
    found = []
    pending = {}
    for line in lines:
        if line["line_type"] == "intent":
            if not line["call_id"].endswith(f"-{line['seq']}"):
                found.append(f"call_id {line['call_id']} does not end in its seq {line['seq']}")
            pending[line["call_id"]] = line
        if line["line_type"] == "outcome":
            intent = pending.pop(line["call_id"], None)
            if intent is None:
                found.append(f"outcome without its intent: {line['call_id']}")
            elif any(line[key] != intent[key] for key in ("tool_id", "request_digest")):
                found.append(f"outcome is not its intent's: {line['call_id']}")
            elif line.get("intent_seq") != intent["seq"]:
                found.append(f"intent_seq is not the intent's: {line['call_id']}")
            found += outcome_faults(line) + grant_faults(line, lines[0])
    if lines[-1]["line_type"] == "close":
        if pending:
            found.append(f"closed with calls in flight: {sorted(pending)}")
        calls = len(intents(lines))
        if lines[-1].get("calls") != calls:
            found.append(f"close counts {lines[-1].get('calls')} calls of {calls}")
    return found


def outcome_faults(line):
    found = []
    if not isinstance(line.get("decision_axes"), dict):
        found.append("outcome without decision_axes")
    return found


def grant_faults(line, opened):
    """The grant of a server that was not confined is empty; of one that was, what the session was opened with; of an
    operation of the broker's, its own: paths of the workspace, and a ceiling for each kind."""
    if line["capability"]["status"] != "granted":
        return []
    found = []
    confinement, broker = opened.get("confinement"), opened.get("broker")
    is_brokers = broker is not None and line["policy_set_hash"] == broker["policy_set_hash"]
    kind = "broker" if is_brokers else "confined" if confinement else "wrap-passthrough"
    grant = line["capability"]["grant"]
    if grant.get("grant_id") != f"{kind}-{line['call_id']}":
        found.append(f"grant_id {grant.get('grant_id')} does not begin with {kind}")
    if grant.get("tool_id") != line["tool_id"]:
        found.append("the grant is for another tool")
    if is_brokers:
        paths = grant["fs"]["read_paths"] + grant["fs"]["write_paths"]
        if any(path != "workspace" and not path.startswith("workspace/") for path in paths):
            found.append("the grant names a path that is not the workspace's")
    elif confinement:
        if any(grant["fs"][key] != confinement[key] for key in ("read_paths", "write_paths")):
            found.append("the grant's paths are not the session's")
    elif any(grant.get(key) != 0 for key in ("max_memory_bytes", "max_wall_ms", "max_output_bytes")):
        found.append("the empty grant has a ceiling")
    return found
