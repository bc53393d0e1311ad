import { Readable } from "node:stream";
import type {
  GetBucketCorsCommand,
  GetBucketLifecycleConfigurationCommand,
} from "@aws-sdk/client-s3";
import { invalidResult } from "../http/xml.ts";

/**
 * Rejects a response with another root element, which the SDK takes for a bucket without rules: the next
 * PUT would delete those of the bucket.
 *
 * @param operation the protocol's name of the request
 * @param configuration the root element of its result
 */
export function requireRoot(
  command: GetBucketCorsCommand | GetBucketLifecycleConfigurationCommand,
  operation: "GetBucketCors" | "GetBucketLifecycleConfiguration",
  configuration: "CORSConfiguration" | "LifecycleConfiguration",
  action: string,
): void {
  // The beginning of the document.
  const root = new RegExp(String.raw`^\s*(?:<\?[^>]*\?>\s*)?<${configuration}[\s/>]`, "u");
  // Of both commands, what is used here has the same type.
  const { middlewareStack }: Pick<GetBucketCorsCommand, "middlewareStack"> = command as never;
  middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as { readonly statusCode: number; body: Readable };
      if (response.statusCode >= 300) return result;
      const body = Buffer.concat(await response.body.toArray());
      response.body = Readable.from(body.length === 0 ? [] : [body]);
      if (root.test(body.toString())) return result;
      throw invalidResult(action, operation);
    },
    { step: "deserialize" },
  );
}
