/**
 * The S3 gateway beside the object store that it stores in, each result compared by hash: large contents by
 * boto3, small requests, listings, memory under many streams, and requests to the store.
 */
import { join } from "node:path";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { withFolder } from "../../harness/files.ts";
import { publishedCommand } from "../../harness/processes.ts";
import { type Findings, together } from "../../harness/results.ts";
import { type Scratch, withScratch } from "../../object-store/scratch.ts";
import type { SuiteContext } from "../../suite.ts";
import { counted } from "./counted.ts";
import { fillCatalog, fillStore } from "./keys.ts";
import { manyKeys } from "./many-keys.ts";
import { memory } from "./memory.ts";
import { PAGES, REQUESTS, requests } from "./requests.ts";
import { BELOW, type Program, serve } from "./serving.ts";
import { transfers } from "./transfers.ts";

/** How much is measured. */
interface Scale {
  /** Bytes of contents that boto3 transfers. */
  readonly sizes: readonly number[];
  /** In a bucket of the store, and of the gateway. */
  readonly keys: number;
  /** Bytes of each of many streams. */
  readonly streamSize: number;
}

const QUICK: Scale = { sizes: [1e6], keys: 1100, streamSize: 1e6 };
const SECONDS: Scale = { sizes: [10e6], keys: 2000, streamSize: 8e6 };
const MINUTES: Scale = {
  sizes: [10e6, 50e6, 100e6, 500e6],
  keys: 100_000,
  streamSize: 100e6,
};
const MANY_KEYS = 10_000_000;

/** What takes seconds. */
export function gateway(context: SuiteContext): Promise<Findings> {
  const scale = context.quick ? QUICK : SECONDS;
  return withGateways("gateway", context, async (scratch, program) => [
    await compared(scratch, program, scale, context),
    await counted(scratch, program, context),
    await memory(scratch, program, scale.streamSize, context),
  ]);
}

/** The same with more and larger contents, and a catalog with very many keys. */
export function gatewayScale(context: SuiteContext): Promise<Findings> {
  const scale = context.quick ? QUICK : MINUTES;
  return withGateways("gateway-scale", context, async (scratch, program) => [
    await compared(scratch, program, scale, context),
    await memory(scratch, program, scale.streamSize, context),
    await manyKeys(scratch, program, context.quick ? QUICK.keys : MANY_KEYS, context),
  ]);
}

async function withGateways(
  suite: string,
  { store }: SuiteContext,
  work: (scratch: Scratch, program: Program) => Promise<readonly Findings[]>,
): Promise<Findings> {
  const script = await publishedCommand();
  const identity = formatIdentity(await generateIdentity());
  const found = await withScratch(store, suite, (scratch) =>
    withFolder((folder) => work(scratch, { script, folder, identity })),
  );
  return together(found);
}

/** One gateway beside its store. */
async function compared(
  { at }: Scratch,
  program: Program,
  { sizes, keys }: Scale,
  context: SuiteContext,
): Promise<Findings> {
  const { signal, log } = context;
  const below = at(`gateway/${BELOW}`);
  const full = at("keys");
  log(`${keys} keys`);
  const catalog = join(program.folder, "keys");
  await fillCatalog(catalog, full.prefix, keys);
  await fillStore(full, keys, signal);
  await using served = await serve({ ...program, store: at("gateway"), catalog, signal });
  const sidesAt = (folder: string) => {
    const direct = at(folder);
    return { direct, gateway: { ...served.access, prefix: direct.prefix }, pid: served.pid };
  };
  const small = await requests(sidesAt("small"), sidesAt("keys"), keys, context);
  const large = await transfers(sidesAt("large"), below, context.sizes ?? sizes, context);
  const notes = [
    "Client, gateway and store share the cores. boto3 transfers parts of 5 MiB, three at once, with its defaults, in a process for each side and round; its start is not timed.",
    `Of small objects, and of HEAD, a sample is the time of ${REQUESTS} from 16 connections; of LIST, of ${PAGES} pages one after the other.`,
  ];
  return together([large, small, { notes }]);
}
