import {
  type Measurement,
  REPORT_SCHEMA,
  type SuiteContext,
  type SuiteResult,
  type Target,
  isShownMissed,
  reportSchema,
  runSuite,
  suites,
} from "@idk/bench";
import { type Bucket, REGION, minioServer, newBucket } from "../servers/s3-servers.ts";
import { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { ensureMinio } from "./server.ts";
import { expect, test } from "bun:test";
import { skipIfMissing } from "../servers/require-server.ts";

/** Longer than any suite takes on a slow machine, in milliseconds. */
const TIMEOUT = 600_000;

export interface Acceptance {
  readonly result: SuiteResult;
  /** @throws Error if nothing was measured by that name */
  measurement(name: string): Measurement;
}

export interface Expectations {
  /** The names of all targets of the suite. Each becomes a test. */
  readonly targets: readonly string[];
  /** Further tests, by title. */
  readonly checks: Readonly<Record<string, (suite: Acceptance) => void>>;
}

/**
 * Runs a suite once with its default sizes and rounds, prints the results, and adds a test for each
 * target. A test fails if its target is shown to be missed: the median misses the bound, or, if there
 * is a confidence interval, the whole interval does.
 */
export async function acceptance(name: string, { targets, checks }: Expectations): Promise<void> {
  const suite = suites.find((suite) => suite.name === name);
  const missing = suite?.needsObjectStore && !(await ensureMinio()) ? ["MinIO"] : [];
  skipIfMissing(missing)(name, () => {
    let running: Promise<Acceptance> | undefined;
    const ran = (): Promise<Acceptance> => {
      running ??= suite?.needsObjectStore ? inBucket(name) : runAndPrint(name);
      return running;
    };

    test(
      "completes",
      async () => {
        const { result } = await ran();
        expect(result).toMatchObject({ suite: name, status: "completed" });
        expect(result.targets.map((target) => target.name).toSorted()).toEqual(targets.toSorted());
        reportSchema.parse(reportOf(result));
      },
      TIMEOUT,
    );

    for (const target of targets) {
      test(
        `meets its target: ${target}`,
        async () => {
          const { result } = await ran();
          const found = result.targets.find((each) => each.name === target);
          if (found === undefined) throw new Error(`the suite does not have this target`);
          if (isShownMissed(found)) throw new Error(`missed: ${describeTarget(found)}`);
          if (!found.met) console.warn(`not shown to be missed: ${describeTarget(found)}`);
        },
        TIMEOUT,
      );
    }

    for (const [what, check] of Object.entries(checks)) {
      test(what, async () => check(await ran()), TIMEOUT);
    }
  });
}

async function runAndPrint(
  name: string,
  context: Pick<SuiteContext, "store"> = {},
): Promise<Acceptance> {
  const { result, table } = await runSuite(name, context);
  console.log(`\n${table}`);
  return {
    result,
    measurement(wanted) {
      const found = result.measurements.find((measurement) => measurement.name === wanted);
      if (found === undefined) throw new Error(`nothing was measured as ${wanted}`);
      return found;
    },
  };
}

/** Runs a suite in a new bucket, which must be empty when the suite is done. */
async function inBucket(name: string): Promise<Acceptance> {
  const bucket = await newBucket(minioServer());
  try {
    const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
    const keys = { accessKeyId, secretAccessKey };
    const store = { endpoint, region: REGION, bucket: bucket.name, prefix: "", ...keys };
    const suite = await runAndPrint(name, { store });
    expect(await objectsIn(bucket)).toEqual([]);
    return suite;
  } finally {
    await bucket.remove();
  }
}

async function objectsIn({ client, name }: Bucket): Promise<string[]> {
  const page = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
  return (page.Versions ?? []).map(({ Key = "" }) => Key);
}

function describeTarget({ name, value, unit, least, most, interval }: Target): string {
  const bound = least === undefined ? `at most ${most}` : `at least ${least}`;
  const digits = (number: number): string => Number(number.toPrecision(4)).toString();
  const range = interval && ` (${digits(interval.low)} to ${digits(interval.high)})`;
  return `${name}: ${digits(value)}${range ?? ""} ${unit}, ${bound}`;
}

/** A minimal report around the result. */
function reportOf(result: SuiteResult): unknown {
  return {
    schema: REPORT_SCHEMA,
    createdAt: new Date().toISOString(),
    version: "0",
    machine: {
      processor: "",
      cores: 1,
      memory: 0,
      system: "",
      runtime: "",
      nacl: "native",
    },
    calibration: { sha256: 1, secretbox: 1, memoryCopy: 1 },
    quick: false,
    suites: [result],
  };
}
