/**
 * Hides passwords, tokens and keys in whatever is shown or can be read by others: commands to
 * paste, messages, the record of a run. What a job works with never passes here.
 *
 * In doubt it hides too much: a `@` or `/` that should have been written as `%40` or `%2F` does not
 * end a password. Masking twice is masking once. Cost: linear in the text.
 */

/** What stands in the place of a secret. */
export const MASK = '***';

const SECRET_NAME = new RegExp(
  [
    'pass(?:word|wd|phrase)|pwd|secret|token(?!i)|credential|authorization|signature',
    '(?:api|access|account|auth|private)[-_.]?key',
    '(?:^|[-_.])(?:pass|auth|sig)$',
  ].join('|'),
  'i',
);
/** Such as `--password-file`: its value is no secret. */
const HARMLESS_END = /(?:file|path|name|count|limit|size|ttl)$/i;

/** Not the `:8080/` of an address without a login. */
const NO_PORT = '(?!\\d{1,5}(?:[/?#]|$))';
/** Up to the last `@` before the next address. */
const upToLogin = (character: string): string => `(?:(?!://)${character})*@`;

/** At the beginning of a value: `scheme://user:…@`, or without scheme, or behind `key=`. */
const GIVEN_LOGIN = new RegExp(
  '^(?!mailto:)((?:[\\w.-]+=)?(?:[a-z][\\w+.-]*://(?!\\[)[^:/?#]*|[\\w.%+-]*):)(?!//)' +
    `${NO_PORT}${upToLogin('[^]')}`,
  'i',
);
const LOGIN = new RegExp(`(://(?!\\[)[^\\s:/?#"]*:)${NO_PORT}${upToLogin('[^\\s"]')}`, 'g');
/** `https://token@host`: elsewhere a name alone is a user. */
const TOKEN_LOGIN = /(https?:\/\/)[^\s:/?#@"]+@/gi;
/** `?token=…`, and `password=…` of a list of settings. */
const SETTING = /(?<![\w.-])([\w.-]+)=(?:'[^']*'|"[^"]*"|[^\s&])+/g;
const JSON_FIELD = /"([\w.-]+)"(\s*:\s*)"(?:\\.|[^"\\])*"?/g;

/** Whether what carries this name (an argument, a parameter of an address) is a secret. */
function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !HARMLESS_END.test(name);
}

/** A text of any kind, such as a message: with the logins in addresses and settings masked. */
export function maskSecrets(text: string): string {
  return text
    .replace(LOGIN, `$1${MASK}@`)
    .replace(TOKEN_LOGIN, `$1${MASK}@`)
    .replace(SETTING, (whole, name: string) => (isSecretName(name) ? `${name}=${MASK}` : whole))
    .replace(JSON_FIELD, (whole, name: string, colon: string) =>
      isSecretName(name) ? `"${name}"${colon}"${MASK}"` : whole,
    );
}

/** One whole value as somebody gave it, `name` being that of its argument or option. */
export function maskValue(value: string, name = ''): string {
  if (isSecretName(name)) return MASK;
  const [start, inner = ''] = /^([\w.-]+)(?:=|:\s+)/.exec(value) ?? [];
  if (start !== undefined && isSecretName(inner)) return `${start}${MASK}`;
  return maskSecrets(value.replace(GIVEN_LOGIN, `$1${MASK}@`));
}

/** The words behind a job file: `--password secret`, `--password=secret`, `--database URL`. */
export function maskArguments(words: readonly string[]): readonly string[] {
  let waiting = '';
  return words.map((word) => {
    const [, given, name = ''] = /^(--?([A-Za-z][\w.-]*))(?:=|$)/.exec(word) ?? [];
    if (given === undefined) {
      const shown = maskValue(word, waiting);
      waiting = '';
      return shown;
    }
    waiting = word === given ? name : '';
    return word === given ? word : `${given}=${maskValue(word.slice(given.length + 1), name)}`;
  });
}
