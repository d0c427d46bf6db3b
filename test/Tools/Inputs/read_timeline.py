"""read_timeline.py FILE...: what the timelines of a run say, which all files make
together. Prints for each rank how many collectives it has ended, and which it is in;
fails if an event has not what viewers and users need."""

import json
import sys

ended, begun, names = {}, {}, {}
for file in sys.argv[1:]:
    with open(file) as opened:
        events = json.load(opened)["traceEvents"]
    for event in events:
        rank = event["pid"]
        if event["ph"] == "M":
            if event["name"] == "process_name":
                names[rank] = event["args"]["name"]
            continue
        assert event["ts"] > 0 and event["cat"] == "collective", event
        arguments = event["args"]
        assert arguments["axes"] and arguments["bytes_sent"] >= 0, event
        if event["ph"] == "X":
            assert 0 <= 1e6 * arguments["exposed_seconds"] <= event["dur"] * 1.001, event
            ended.setdefault(rank, []).append(event["name"])
        else:
            assert event["ph"] == "B" and "dur" not in event, event
            begun.setdefault(rank, []).append(f"{event['name']} {arguments['call']}")
for rank in sorted(names):
    counts = {name: ended.get(rank, []).count(name) for name in ended.get(rank, [])}
    said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{names[rank]}: ended {said or 'none'}; in {', '.join(begun.get(rank, [])) or 'none'}")
