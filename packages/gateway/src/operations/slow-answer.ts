import type { Answer } from "../http/connection/outgoing.ts";
import { errorDocument } from "../xml/error-document.ts";
import { DECLARATION } from "../xml/write.ts";
import type { Request } from "./operation.ts";

/** Clients and load balancers give up on a connection on which nothing comes for a minute. */
const WAIT_MS = 10_000;

/**
 * The answer of what may take long. If it does, the status 200 is sent before the outcome is known,
 * as on AWS: then white space, and in the end the document, which may be an error's.
 */
export async function slowAnswer(
  work: Promise<Answer>,
  { rawPath, requestId, report }: Pick<Request, "rawPath" | "requestId" | "report">,
  waitMs = WAIT_MS,
): Promise<Answer> {
  const early = await settled(work, waitMs);
  if (early) return work;
  async function* body(): AsyncGenerator<Uint8Array> {
    // White space may not come before it.
    yield Buffer.from(DECLARATION);
    while (!(await settled(work, waitMs))) yield Buffer.from(" ");
    const document = await work.then(
      (answer) => answer.body,
      (error: unknown) =>
        errorDocument(report(error), { resource: rawPath, requestId, hostId: requestId }),
    );
    if (typeof document === "string") yield Buffer.from(document.slice(DECLARATION.length));
  }
  return { status: 200, headers: { "content-type": "application/xml" }, body: body() };
}

/** Whether it has an outcome before the time is over. */
async function settled(work: Promise<unknown>, waitMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs);
  });
  const done = work.then(
    () => true as const,
    () => true as const,
  );
  const outcome = await Promise.race([done, late]);
  clearTimeout(timer);
  return outcome;
}
