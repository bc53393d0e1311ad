const NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/u;
const IP = /^\d+\.\d+\.\d+\.\d+$/u;

/** Whether a bucket can have the name, by S3's rules for general purpose buckets. */
export function isBucketName(name: string): boolean {
  return (
    NAME.test(name) &&
    !name.includes("..") &&
    !IP.test(name) &&
    !/^(?:xn--|sthree-|amzn-s3-demo-)/u.test(name) &&
    !/(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/u.test(name)
  );
}
