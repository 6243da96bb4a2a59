import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { maskArguments, maskSecrets, maskValue } from './mask-secrets.ts';
import { toErrorInfo, WeirError } from './errors.ts';

/** Recognised wherever it turns up, also in part. */
const SECRET = /Geheim/;
const around = fc.string({ maxLength: 8, unit: 'grapheme-ascii' });
const secret = fc.tuple(around, around).map(([before, after]) => `${before}Geheim${after}`);
const name = fc.stringMatching(/^[a-z]{0,6}$/);
const host = fc.stringMatching(/^[a-z]{1,6}(:[1-9]\d{3})?$/);
const path = fc.stringMatching(/^(\/[a-z@]{0,4}){0,2}(\?[a-z]{1,3}=[a-z@]{0,3})?$/);
const scheme = fc.constantFrom('postgres', 'redis', 'rediss', 'https', 'mongodb+srv', 'amqp');

/** With the password encoded as it must be, or with what users write instead. */
const address = fc
  .record({ scheme, name, secret, host, path, encoded: fc.boolean() })
  // Text that is an address in itself ends the one before.
  .filter((it) => it.encoded || !`:${it.secret}`.includes('://'))
  // A port in place of the password: it would be one for every program.
  .filter((it) => it.encoded || !/^\d{1,5}[/?#]/.test(it.secret))
  .map((it) => {
    const password = it.encoded ? encodeURIComponent(it.secret) : it.secret;
    return `${it.scheme}://${it.name}:${password}@${it.host}${it.path}`;
  });

test('no password of an address is in what is shown of it', () => {
  fc.assert(
    fc.property(address, (given) => {
      const words = ['--database', given, `--other=${given}`, given, `x=${given}`];
      for (const shown of [maskValue(given), ...maskArguments(words)])
        assert.doesNotMatch(shown, SECRET);
    }),
  );
});

test('no password of a well-formed address is in a message, a stack or a cause', () => {
  fc.assert(
    fc.property(scheme, name, secret, host, (kind, user, password, place) => {
      const url = new URL(`${kind}://${place}`);
      url.username = user;
      url.password = password;
      const text = `cannot connect to ${url.href}, nor to "${url.href}"`;
      const cause = new Error(text);
      const error = new WeirError('user', text, { code: 'SINK_UNAVAILABLE', cause });
      assert.doesNotMatch(JSON.stringify(toErrorInfo(error)), SECRET);
      assert.doesNotMatch(`${error.message}${error.stack}`, SECRET);
    }),
  );
});

test('no argument whose name tells of a secret is shown', () => {
  const names = fc.constantFrom('password', 'db-password', 'token', 'client_secret', 'api-key');
  fc.assert(
    fc.property(names, secret, (argument, given) => {
      const two = given.startsWith('-') ? [] : [`--${argument}`, given];
      for (const shown of maskArguments([`--${argument}=${given}`, ...two]))
        assert.doesNotMatch(shown, SECRET);
    }),
  );
});

test('masking twice is masking once', () => {
  fc.assert(
    fc.property(fc.oneof(address, secret), (given) => {
      const once = maskValue(given);
      assert.equal(maskValue(once), once);
      assert.equal(maskSecrets(maskSecrets(given)), maskSecrets(given));
    }),
  );
});
