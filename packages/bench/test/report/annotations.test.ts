import { describe, expect, test } from "bun:test";
import { annotation, annotationsOf } from "../../src/report/annotations.ts";
import { PROBLEMS, target } from "./fixtures.ts";

/** As GitHub's runner reads a line: https://github.com/actions/runner, ActionCommand.TryParseV2 */
function read(line: string) {
  const end = line.indexOf("::", 2);
  const [command = "", list = ""] = line.slice(2, end).split(/ (.*)/su);
  const properties = list.split(",").map((pair) => {
    const [name = "", value = ""] = pair.split(/=(.*)/su);
    return [name, unescaped(value, ["%3A", ":"], ["%2C", ","])] as const;
  });
  return {
    command,
    properties: Object.fromEntries(properties),
    message: unescaped(line.slice(end + 2)),
  };
}

function unescaped(text: string, ...more: [string, string][]): string {
  const all = [...more, ["%0D", "\r"], ["%0A", "\n"], ["%25", "%"]] as [string, string][];
  return all.reduce((result, [from, to]) => result.replaceAll(from, to), text);
}

const BASELINE = {
  file: "benchmarks/baseline.json",
  text: JSON.stringify(
    { suites: { seal: { targets: { "open by bound": 1, "key by <bound>": null }, counters: {} } } },
    undefined,
    2,
  ),
};

describe("annotations", () => {
  test("name the suite and the target, and point to its line in the baseline", () => {
    expect(annotationsOf(PROBLEMS, BASELINE)).toEqual([
      "::error file=benchmarks/baseline.json,line=6,title=seal%3A key by <bound>::missed its target: 2.00, ≤ 1.50",
      "::error title=broken::failed: HTTP 500",
      "::warning file=benchmarks/baseline.json,line=5,title=seal%3A open by bound::is inconclusive: 1.00 (0.60 to 1.40), ≤ 1.10",
      "::warning title=upload::skipped: no object store",
    ]);
  });

  test("point nowhere without a baseline, and for a drift to the value it is compared with", () => {
    expect(annotationsOf(PROBLEMS)[0]).toBe(
      "::error title=seal%3A key by <bound>::missed its target: 2.00, ≤ 1.50",
    );
    const drift = target("open by bound, against the baseline", 2, 1);
    const problem = { level: "failure", suite: "seal", target: drift, message: "missed" } as const;
    expect(annotationsOf([problem], BASELINE)[0]).toContain(",line=5,");
    const whole = { level: "failure", message: "the NaCl in JavaScript was used" } as const;
    expect(annotationsOf([whole], BASELINE)).toEqual([
      "::error title=benchmarks::the NaCl in JavaScript was used",
    ]);
  });

  test.each([
    "a\n::error::planted",
    "a\r\n::stop-commands::x",
    "a,file=.github/workflows/ci.yml,line=1",
    "a::b",
    "100 %0A 50%",
    "%25",
  ])("no text ends its part: %j", (text) => {
    const line = annotation("failure", text, text, { file: text, line: 7 });
    expect(line).not.toMatch(/[\r\n]/u);
    expect(read(line)).toEqual({
      command: "error",
      properties: { file: text, line: "7", title: text },
      message: text,
    });
  });
});
