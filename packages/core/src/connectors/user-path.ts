import { cwd } from 'node:process';
import { ConfigurationError } from '../base/errors.ts';
import { maskValue } from '../base/mask-secrets.ts';
import { parseUserPath, userPathAdvice } from '../storage/paths.ts';

/**
 * A path as a job gives it, made absolute: relative ones start at the current folder. The only
 * place of the connectors that asks the process for it. `option` names the setting in messages.
 */
export function resolveUserPath(text: string, option: string): string {
  const path = text === '' ? null : parseUserPath(text, cwd());
  if (path !== null) return path;
  const value = maskValue(text);
  throw new ConfigurationError(
    `${option}: ${JSON.stringify(value)} is not a path of a file system: ${userPathAdvice(text)}`,
    { details: { option, value } },
  );
}
