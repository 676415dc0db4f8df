"""Expectations of the alerts and of the dashboard. usage: watching.py [DIRECTORY_OF_THE_PROGRAMS]"""

import json
import re
import sys
from pathlib import Path

import promql_parser
import yaml
from checking import ROOT, Faults
from watching_fleet import examine_fleet

RULES = ROOT / "deploy/prometheus/martlet-rules.yaml"
UNIT_TESTS = ROOT / "deploy/prometheus/martlet-rules.test.yaml"
DASHBOARD = ROOT / "deploy/grafana/martlet.json"
METRICS = ROOT / "docs/watching.md"
ALERTS = ROOT / "docs/alerts.md"
# What Prometheus itself makes.
OF_PROMETHEUS = {"up", "ALERTS"}
SEVERITIES = {"critical", "warning"}
COLUMNS = 24


def documented_metrics():
    """The metrics of the table in docs/watching.md."""
    return set(re.findall(r"^\| `(\w+)(?:\{[\w,]+\})?` \| (?:worker|sidecar|both) \|", METRICS.read_text(), re.M))


def metrics_of(expression):
    """The metrics that a query names, without the suffixes of a histogram."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}', "", expression)
    names = set(re.findall(r"\b(?:(?:martlet|process)_\w+|up|ALERTS)\b", bare))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


def examine_metrics(expression, where, faults):
    unknown = metrics_of(expression) - documented_metrics() - OF_PROMETHEUS
    faults.expect(not unknown, f"{where}: {sorted(unknown)} is not in the table of docs/watching.md")


def alerts():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def examine_alerts(faults):
    fired = fired_labels()
    entries = entries_of_the_page()
    names = [rule["alert"] for rule in alerts()]
    faults.expect(sorted(entries) == sorted(names),
                  f"docs/alerts.md: differs from the rules in {sorted(set(entries) ^ set(names))}")
    for rule in alerts():
        name, notes = rule["alert"], rule["annotations"]
        faults.expect(rule["labels"].get("severity") in SEVERITIES, f"{name}: severity {rule['labels'].get('severity')}")
        faults.expect(set(notes) == {"summary", "description", "runbook"}, f"{name}: has the annotations {sorted(notes)}")
        faults.expect(notes["runbook"] == f"docs/alerts.md#{name.lower()}", f"{name}: its runbook is {notes['runbook']}")
        examine_metrics(rule["expr"], name, faults)
        if not faults.expect(name in fired, f"{name}: no unit test sees it fire"):
            continue
        faults.expect(name in quiet_tests(), f"{name}: no unit test `{name} does not fire …`")
        used = set(re.findall(r"\$labels\.(\w+)", notes["summary"] + notes["description"]))
        faults.expect(used <= fired[name], f"{name}: its text uses {sorted(used - fired[name])}, which it does not have")
        for part in ("What it means", "First look", "Remedy"):
            faults.expect(f"**{part}" in entries.get(name, ""), f"docs/alerts.md, {name}: no \"{part}\"")


def entries_of_the_page():
    """The text of each heading."""
    parts = re.split(r"^## (\w+)\n", ALERTS.read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def unit_tests():
    return yaml.safe_load(UNIT_TESTS.read_text())["tests"]


def quiet_tests():
    return {test["name"].split()[0] for test in unit_tests() if "does not fire" in test["name"]}


def fired_labels():
    """By alert, the labels that it has in the unit tests where it fires."""
    labels = {}
    for test in unit_tests():
        for expected in test.get("promql_expr_test", []):
            for sample in expected["exp_samples"]:
                pairs = dict(re.findall(r'(\w+)="([^"]*)"', sample["labels"]))
                if pairs["alertstate"] == "firing":
                    labels.setdefault(pairs["alertname"], set()).update(pairs)
    return labels


def examine_dashboard(dashboard, faults):
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    faults.expect({"datasource", "job", "instance", "queue"} <= variables, f"dashboard: has the variables {sorted(variables)}")
    known = variables | {"__rate_interval"}
    taken, ids = {}, set()
    for panel in dashboard["panels"]:
        title = panel.get("title")
        where = f"dashboard, panel {title!r}"
        faults.expect(title and panel["id"] not in ids, f"{where}: no title, or an id that another panel has")
        ids.add(panel["id"])
        examine_place(panel["gridPos"], title, taken, faults)
        if panel["type"] == "row":
            continue
        faults.expect(len(panel.get("description", "")) > 20, f"{where}: no description")
        faults.expect(panel["datasource"]["uid"] == "${datasource}", f"{where}: another data source")
        faults.expect(panel["fieldConfig"]["defaults"].get("unit"), f"{where}: no unit")
        for link in re.findall(r"docs/[\w/-]+\.\w+(?:#[\w-]+)?", panel.get("description", "")):
            faults.expect(leads_somewhere(link), f"{where}: {link} leads nowhere")
        for target in panel["targets"]:
            faults.expect(target["datasource"]["uid"] == "${datasource}", f"{where}: another data source")
            missing = set(re.findall(r"\$\{?(\w+)", target["expr"])) - known
            faults.expect(not missing, f"{where}: {sorted(missing)} are not variables")
            examine_metrics(target["expr"], where, faults)
            try:
                promql_parser.parse(with_values(target["expr"]))
            except ValueError as error:
                faults.expect(False, f"{where}: {target['expr']}: {error}")
    for link in dashboard["links"]:
        faults.expect(leads_somewhere(link["url"].replace("${docs}/", "")), f"dashboard: the link {link['url']} leads nowhere")


def examine_place(place, title, taken, faults):
    faults.expect(place["x"] + place["w"] <= COLUMNS, f"dashboard, panel {title!r}: wider than the dashboard")
    for column in range(place["x"], place["x"] + place["w"]):
        for line in range(place["y"], place["y"] + place["h"]):
            other = taken.setdefault((column, line), title)
            if other != title:
                return faults.expect(False, f"dashboard: {title!r} covers {other!r}")


def leads_somewhere(link):
    path, _, anchor = link.partition("#")
    if not (ROOT / path).is_file():
        return False
    headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.M)
    return not anchor or anchor in {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def with_values(expression):
    """The query as Grafana sends it, for all processes."""
    return re.sub(r"\$\{?(job|instance|queue)\b\}?", ".*", expression).replace("$__rate_interval", "15s")


def main():
    faults = Faults()
    dashboard = json.loads(DASHBOARD.read_text())
    examine_alerts(faults)
    examine_dashboard(dashboard, faults)
    faults.end("deploy/prometheus and deploy/grafana")
    if len(sys.argv) > 1:
        queries = [(panel["title"], with_values(target["expr"])) for panel in dashboard["panels"] for target in panel.get("targets", [])]
        variables = [variable["definition"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
        examine_fleet(Path(sys.argv[1]).resolve(), RULES, queries, variables, faults)
        faults.end("a fleet watched by Prometheus")


main()
