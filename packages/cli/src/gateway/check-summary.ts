import type { ObjectFault } from "@idk/gateway";
import { Failure } from "../errors/failures.ts";
import { count, printable } from "../output/text.ts";
import type { Session } from "../session.ts";

/** What is printed of an object that cannot be read. */
export function faultText({ bucket, key, message }: ObjectFault): string {
  const name = JSON.stringify(`${bucket}/${Buffer.from(key).toString()}`);
  return `${printable(name)}: ${message}`;
}

export async function printFault(fault: ObjectFault, { out }: Session): Promise<void> {
  const { bucket, key, address, message } = fault;
  await out.result(faultText(fault), {
    bucket,
    key: Buffer.from(key).toString(),
    address,
    message,
  });
}

export function describeObjects(objects: number, faults: number): string {
  return `checked ${count(objects, "object")}${faults === 0 ? ": no problems found" : ""}`;
}

/** @param objects how many there are; undefined for a part, which may lack blobs of objects of other parts */
export function objectsFailure(faults: number, objects?: number): Failure | undefined {
  if (faults === 0) return undefined;
  const which =
    objects === undefined ? count(faults, "object") : `${faults} of ${count(objects, "object")}`;
  return new Failure("tree", `${which} cannot be read`);
}
