/**
 * What to do here about an error of a library that cannot know of URLs and variables. The errors
 * are those of the AWS SDK, which stay as causes.
 */
export function hintFor(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.name === "CredentialsProviderError") {
      return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in AWS_PROFILE";
    }
    if ("code" in at && at.code === "no-match") {
      return "it is for other recipients; -i names another identity";
    }
    if (at.message === "Region is missing") return "region=R in the URL, or AWS_REGION";
  }
  return undefined;
}
