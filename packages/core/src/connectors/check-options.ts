import { ConfigurationError } from '../base/errors.ts';

/** Refuses a number that is not above zero. `option` names it in the message. */
export function checkPositive(value: number | undefined, option: string): void {
  if (value === undefined || value > 0) return;
  throw new ConfigurationError(`${option}: ${value} is not allowed, give a number above 0`, {
    details: { option, value },
  });
}

/** Refuses a number that is not a whole one of at least `least`. */
export function checkWhole(value: number | undefined, least: number, option: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= least)) return;
  throw new ConfigurationError(
    `${option}: ${value} is not allowed, give a whole number of at least ${least}`,
    { details: { option, value } },
  );
}
