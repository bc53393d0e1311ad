import { describe, expect, test } from "bun:test";
import { renderJson, renderJsonSchema } from "../../src/report/report.ts";
import { REPORT } from "./fixtures.ts";

describe("renderJson", () => {
  test("renders the report with six digits of each number, and whole numbers exactly", () => {
    const rounded = (_: string, value: unknown): unknown =>
      typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
    const expected: unknown = JSON.parse(JSON.stringify(REPORT, rounded));
    expect(JSON.parse(renderJson(REPORT))).toEqual(expected);
  });

  test("rejects a report that does not match the schema, and reports the path", () => {
    const [seal, ...others] = REPORT.suites;
    const [first] = seal!.measurements;
    const bad = { ...first!, samples: [Number.NaN] };
    const report = { ...REPORT, suites: [{ ...seal!, measurements: [bad] }, ...others] };
    expect(() => renderJson(report)).toThrow("suites[0].measurements[0].samples[0]");
  });

  test("the JSON Schema lists required properties", () => {
    const schema = JSON.parse(renderJsonSchema()) as {
      $schema: string;
      required: string[];
      properties: Record<string, { const?: string }>;
    };
    expect(schema.$schema).toContain("2020-12");
    expect(schema.required).toEqual(expect.arrayContaining(["schema", "machine", "suites"]));
    expect(schema.properties["schema"]?.const).toBe("idk-bench/2");
  });
});
