import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';

/**
 * What everything in this folder works with: a disk, and a clock for the pauses between retries.
 */
export interface StorageIo {
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
}
