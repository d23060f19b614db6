export type { Body } from './raw-body';
export { type StandardMessage, signBody, signMessage } from './sign';
export { type RequestHeaders, type VerifyMessageInput, verifyBody, verifyMessage } from './verify';
