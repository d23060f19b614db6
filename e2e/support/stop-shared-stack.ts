import { stopSharedStack } from './start-shared-stack';

export default stopSharedStack;
