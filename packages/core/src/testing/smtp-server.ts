import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly to: readonly string[];
  /** Headers and body as they came. */
  readonly raw: string;
}

export interface TestSmtpServer {
  /** With user and password. */
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Refuse recipients with this code until it is called with none. */
  refuse(code: number | undefined): void;
  /** Take mails, and answer only once this promise is settled. */
  answerAfter(settled: Promise<unknown>): void;
  close(): Promise<void>;
}

export const SMTP_PASSWORD = 'correct-horse';

/** A real SMTP server on a port of its own, which takes mail from one user. */
export async function startSmtpServer(): Promise<TestSmtpServer> {
  const mails: ReceivedMail[] = [];
  let refusal: number | undefined;
  let mayAnswer: Promise<unknown> = Promise.resolve();
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, callback) {
      const isRight = username === 'sender' && password === SMTP_PASSWORD;
      if (isRight) callback(null, { user: username });
      else callback(new Error('Wrong user or password.'));
    },
    onRcptTo(_address, _session, callback) {
      if (refusal === undefined) callback();
      else callback(Object.assign(new Error('Refused.'), { responseCode: refusal }));
    },
    onData(stream, session, callback) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => void parts.push(part));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ to, raw: Buffer.concat(parts).toString() });
        void answerOnceAllowed(callback);
      });
    },
  });
  async function answerOnceAllowed(callback: () => void): Promise<void> {
    await mayAnswer;
    callback();
  }
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://sender:${SMTP_PASSWORD}@127.0.0.1:${port}`,
    mails,
    refuse: (code) => void (refusal = code),
    answerAfter: (settled) => void (mayAnswer = settled),
    close: async () => await new Promise((resolve) => server.close(() => resolve())),
  };
}
