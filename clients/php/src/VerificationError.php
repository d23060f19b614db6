<?php

declare(strict_types=1);

namespace Hookferry;

/** Says why a request could not be verified. The message says what to do, and has no secret. */
final class VerificationError extends \RuntimeException
{
    /**
     * @param string $reason does not change between versions: missing_secret, not_a_secret, not_a_key, missing_header,
     *   timestamp_skew, no_match or invalid_payload
     * @param ?string $header its name, with missing_header
     * @param ?int $skewSeconds the request's time minus this clock's, with timestamp_skew; negative: the request is too old
     */
    public function __construct(
        public readonly string $reason,
        string $message,
        public readonly ?string $header = null,
        public readonly ?int $skewSeconds = null,
    ) {
        parent::__construct($message);
    }

    /** Whether the receiver's configuration is wrong, so that no request can be verified: respond with 500, not 401. */
    public function isConfigurationError(): bool
    {
        return in_array($this->reason, ['missing_secret', 'not_a_secret', 'not_a_key'], true);
    }

    /** @internal */
    public static function missingHeader(string $name, string $what): self
    {
        return new self('missing_header', "The header $name $what.", header: $name);
    }

    /** @internal */
    public static function invalidPayload(string $what): self
    {
        return new self('invalid_payload', "The signature is valid, but the body $what. "
            . 'If the service sent it, read the body yourself after verifySignature().');
    }
}
