import { describe, expect, test } from "bun:test";
import { renderJson, renderJsonSchema } from "../../src/report/schema.ts";
import { REPORT } from "./fixtures.ts";

describe("the JSON of a report", () => {
  test("is the report", () => {
    expect(JSON.parse(renderJson(REPORT))).toEqual(JSON.parse(JSON.stringify(REPORT)));
  });

  test("is refused where it does not have the published shape, and the place is named", () => {
    const [seal, ...others] = REPORT.suites;
    const [first] = seal!.measurements;
    const bad = { ...first!, samples: [Number.NaN] };
    const report = { ...REPORT, suites: [{ ...seal!, measurements: [bad] }, ...others] };
    expect(() => renderJson(report)).toThrow("suites[0].measurements[0].samples[0]");
  });

  test("its schema names what a reader can rely on", () => {
    const schema = JSON.parse(renderJsonSchema()) as {
      $schema: string;
      required: string[];
      properties: Record<string, { const?: string }>;
    };
    expect(schema.$schema).toContain("2020-12");
    expect(schema.required).toEqual(expect.arrayContaining(["schema", "machine", "suites"]));
    expect(schema.properties["schema"]?.const).toBe("idk-bench/1");
  });
});
