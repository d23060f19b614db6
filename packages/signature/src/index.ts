export { type Body, type StandardMessage, signBody, signMessage } from './sign';
export { type VerifyMessageInput, verifyBody, verifyMessage } from './verify';
