/**
 * Turns what the operating system answers into a `StorageUnavailableError` that a user understands:
 * what was tried, on which path, why it failed, what to do. `details.errno` is the stable part.
 */
import { isWeirError, StorageUnavailableError } from '../base/errors.ts';

interface Reason {
  readonly text: string;
  readonly advice: string;
  /** Trying again cannot help: somebody must act first. */
  readonly permanent: boolean;
}

const OTHER_FOLDER = 'or choose another folder';

const REASONS: Readonly<Record<string, Reason>> = {
  ENOENT: {
    text: 'it does not exist',
    advice: 'check the path, and whether something else removes files there',
    permanent: true,
  },
  EEXIST: { text: 'it exists already', advice: 'choose another name', permanent: true },
  EACCES: {
    text: 'permission denied',
    advice: `give this user the right to read and write there, ${OTHER_FOLDER}`,
    permanent: true,
  },
  EPERM: {
    text: 'the file system does not permit it',
    advice: `check the owner of the files and the mount options, ${OTHER_FOLDER}`,
    permanent: true,
  },
  EROFS: {
    text: 'the file system is read-only',
    advice: `mount it writable, ${OTHER_FOLDER}`,
    permanent: true,
  },
  ENOSPC: {
    text: 'the disk is full',
    advice: `free space on it, ${OTHER_FOLDER}`,
    permanent: true,
  },
  EDQUOT: {
    text: 'the disk quota is used up',
    advice: `free space or raise the quota, ${OTHER_FOLDER}`,
    permanent: true,
  },
  ENOTDIR: {
    text: 'a part of the path is a file, not a folder',
    advice: 'check the path',
    permanent: true,
  },
  ELOOP: {
    text: 'its symbolic links lead back to themselves',
    advice: 'check the links in the path',
    permanent: true,
  },
  EISDIR: { text: 'it is a folder, not a file', advice: 'check the path', permanent: true },
  ENOTEMPTY: {
    text: 'the folder is not empty',
    advice: 'look at what is left in it',
    permanent: true,
  },
  ENAMETOOLONG: { text: 'the name is too long', advice: 'choose a shorter path', permanent: true },
  ENOTSUP: {
    text: 'the file system does not offer this operation',
    advice: 'choose a folder on another file system',
    permanent: true,
  },
  EXDEV: {
    text: 'the two paths are on different file systems',
    advice: 'keep the folder on one file system',
    permanent: true,
  },
  EMFILE: {
    text: 'this process has too many open files',
    advice: 'raise the limit on open files (ulimit -n)',
    permanent: false,
  },
  EIO: {
    text: 'the device reports an input/output error',
    advice: 'check the disk or the network mount',
    permanent: false,
  },
  ESTALE: {
    text: 'the network file system has lost the file handle',
    advice: 'check the network mount',
    permanent: false,
  },
};

const UNKNOWN: Reason = {
  text: 'the system reports an error',
  advice: 'check the disk or the network mount',
  permanent: false,
};

/** Other spellings of a reason above. */
const SAME_AS: Readonly<Record<string, string>> = { EOPNOTSUPP: 'ENOTSUP', ENOSYS: 'ENOTSUP' };

/** A system error as a user should see it. `action` completes "cannot …", such as `write`. */
export function storageError(action: string, path: string, cause: unknown): Error {
  return describe(action, path, errnoOf(cause), { cause });
}

/** A storage error that comes from no system call: for file systems that are not a real disk. */
export function storageErrorFromErrno(action: string, path: string, errno: string): Error {
  return describe(action, path, errno);
}

/** The errno of a storage error or of a system error; `null` for anything else. */
export function storageErrno(error: unknown): string | null {
  if (!isWeirError(error) || error.code !== 'STORAGE_UNAVAILABLE') return null;
  return typeof error.details['errno'] === 'string' ? error.details['errno'] : null;
}

/** Whether trying again may help. What is not a storage error is not retried either. */
export function isTransientStorageError(error: unknown): boolean {
  const errno = storageErrno(error);
  return errno !== null && !reasonOf(errno).permanent;
}

function describe(
  action: string,
  path: string,
  errno: string,
  options: { readonly cause?: unknown } = {},
): StorageUnavailableError {
  const { text, advice, permanent } = reasonOf(errno);
  return new StorageUnavailableError(`cannot ${action} ${path}: ${text} (${errno}); ${advice}`, {
    details: { path, errno, permanent },
    ...options,
  });
}

function reasonOf(errno: string): Reason {
  return REASONS[SAME_AS[errno] ?? errno] ?? UNKNOWN;
}

function errnoOf(cause: unknown): string {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : null;
  return typeof code === 'string' ? code : 'UNKNOWN';
}
