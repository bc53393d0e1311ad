// Start reading in recorder.ts, then queue/pipeline.ts: an exchange from its end to the store.
export { createRecorder, type Recorder } from "./recorder.ts";
export type { FinishedExchange, RecorderLimits, RecorderOptions } from "./options.ts";
export type { RecorderStats } from "./stats.ts";
export type { RedactAction, RedactDefaults, RedactRule } from "./redact/contract.ts";
export type { DropReason, RunTotals } from "./segments/metadata.ts";
export type { FetchFunction } from "./capture/outbound.ts";
export type { WebHandler } from "./capture/web.ts";
