/**
 * A job id that no other run of the tests has: on a server that runs for long, what a broken run
 * left (a prepared transaction, a confirmation) belongs to other jobs.
 */
import { randomBytes } from 'node:crypto';
import type { JobId } from '@weir/core';

export function freshJobId(): JobId {
  return randomBytes(16).toString('hex') as JobId;
}
