/**
 * Certificates for a broker with TLS: one of the broker, for 127.0.0.1 and localhost, and one of a
 * client that the broker trusts. Both sign themselves. Made by the JDK's keytool, which is there
 * wherever a broker can be started.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const STORE_PASSWORD = 'weir-test-store';

export interface Certificates {
  /** PKCS#12 with key and certificate of the broker. */
  readonly brokerStore: string;
  /** PKCS#12 with the certificates the broker trusts. */
  readonly trustStore: string;
  /** PEM of the broker's certificate: what a client takes as `ca`. */
  readonly brokerPem: string;
  /** PKCS#12 with key and certificate of the client: what it takes as `pfx`. */
  readonly clientStore: string;
}

export async function makeCertificates(folder: string): Promise<Certificates> {
  const place = (name: string): string => join(folder, name);
  const stores = {
    brokerStore: place('broker.p12'),
    trustStore: place('trust.p12'),
    brokerPem: place('broker.pem'),
    clientStore: place('client.p12'),
  };
  await generate(stores.brokerStore, 'localhost', ['-ext', 'SAN=ip:127.0.0.1,dns:localhost']);
  await generate(stores.clientStore, 'weir', []);
  await keytool(['-exportcert', '-rfc', '-file', stores.brokerPem], stores.brokerStore);
  await keytool(['-exportcert', '-rfc', '-file', place('client.pem')], stores.clientStore);
  const trusted = ['-importcert', '-noprompt', '-file', place('client.pem')];
  await keytool(trusted, stores.trustStore);
  return stores;
}

function generate(store: string, name: string, more: readonly string[]): Promise<void> {
  const key = ['-genkeypair', '-keyalg', 'EC', '-groupname', 'secp256r1', '-validity', '30'];
  return keytool([...key, '-dname', `CN=${name}`, ...more], store);
}

async function keytool(args: readonly string[], store: string): Promise<void> {
  const place = ['-keystore', store, '-storetype', 'PKCS12', '-storepass', STORE_PASSWORD];
  await run('keytool', [...args, '-alias', 'own', ...place]);
}
