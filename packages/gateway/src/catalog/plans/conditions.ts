import type { Condition, Refusal } from "../catalog.ts";
import type { StoredObject } from "../records.ts";

/** Why a condition does not hold of what is there; undefined if it does. */
export function refusalOf(
  condition: Condition,
  object: StoredObject | undefined,
): Refusal["outcome"] | undefined {
  const { ifMatch, ifNoneMatch, ifTime, ifSize } = condition;
  if (object === undefined) {
    const wantsObject = ifMatch !== undefined || ifTime !== undefined || ifSize !== undefined;
    return wantsObject ? "absent" : undefined;
  }
  const isOneOf = (etags: readonly string[]) => etags.includes("*") || etags.includes(object.etag);
  const holds =
    (ifMatch === undefined || isOneOf(ifMatch)) &&
    (ifNoneMatch === undefined || !isOneOf(ifNoneMatch)) &&
    (ifTime === undefined || Math.floor(ifTime / 1000) === Math.floor(object.time / 1000)) &&
    (ifSize === undefined || ifSize === object.size);
  return holds ? undefined : "failed";
}
