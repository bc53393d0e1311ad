import type { S3Error } from "../errors.ts";
import { faultOf } from "../faults.ts";
import { type AccessRecord, accessLine } from "../http/access-log.ts";
import type { Refusal } from "../http/server.ts";
import type { Context } from "./options.ts";

/** Lines a second for what never became a request: anybody may cause as many as they like. */
const REFUSALS_PER_SECOND = 10;

export function refusalLog({ metrics, log }: Context): (refusal: Refusal) => void {
  let [second, lines] = [0, 0];
  return ({ id, remote, status }) => {
    const time = Date.now();
    metrics.request({ operation: "malformed", status, received: 0, sent: 0, durationMs: 0 });
    const now = Math.floor(time / 1000);
    lines = now === second ? lines + 1 : 1;
    second = now;
    if (lines > REFUSALS_PER_SECOND) return;
    log(
      accessLine({
        ...unknownProgress(),
        time,
        id,
        remote,
        method: "",
        target: "",
        status,
        received: 0,
        sent: 0,
        durationMs: 0,
      }),
    );
  };
}

/** What is known of a request as it proceeds, for the log. */
export type Progress = {
  -readonly [
    K in "accessKey" | "operation" | "code" | "fault" | "userAgent" | "client"
  ]: AccessRecord[K];
};

export function unknownProgress(): Progress {
  return {
    accessKey: undefined,
    operation: undefined,
    code: undefined,
    fault: undefined,
    userAgent: undefined,
    client: undefined,
  };
}

/** What the log has of an error that the client is told. */
export function recordError(shown: S3Error, progress: Progress): void {
  progress.code = shown.code;
  if (shown.status === 500 || shown.status === 503) progress.fault = faultOf(shown.cause ?? shown);
}
