using System;

namespace Hookferry
{
    /// <summary>Says why a request could not be verified. The message says what to do, and has no secret.</summary>
    public sealed class VerificationException : Exception
    {
        /// <summary>
        /// Does not change between versions: missing_secret, not_a_secret, missing_header, timestamp_skew, no_match or
        /// invalid_payload.
        /// </summary>
        public string Code { get; }

        /// <summary>The header's name with missing_header, or null.</summary>
        public string Header { get; }

        /// <summary>
        /// The request's time minus this clock's with timestamp_skew, or null. Negative: the request is too old.
        /// </summary>
        public long? SkewSeconds { get; }

        /// <summary>Whether the receiver's configuration is wrong, so that no request can be verified.</summary>
        public bool IsConfigurationError => Code == "missing_secret" || Code == "not_a_secret";

        private VerificationException(string code, string message, string header = null, long? skewSeconds = null)
            : base(message)
        {
            Code = code;
            Header = header;
            SkewSeconds = skewSeconds;
        }

        internal static VerificationException MissingHeader(string name, string what) =>
            new VerificationException("missing_header", $"The header {name} {what}.", header: name);

        internal static VerificationException InvalidPayload(string what) =>
            new VerificationException("invalid_payload", $"The signature is valid, but the body {what}. "
                + "If the service sent it, read the body yourself after VerifySignature().");

        internal static VerificationException MissingSecret(string what) =>
            new VerificationException("missing_secret", $"There is no secret to verify with: {what}. "
                + "Set its variable, such as WEBHOOK_SECRET=whsec_….");

        internal static VerificationException NotASecret(string why) =>
            new VerificationException("not_a_secret", $"This is not a signing secret: {why}. "
                + "Pass the webhook's \"secret\" as it was issued (whsec_…).");

        internal static VerificationException NoMatch(string header) =>
            new VerificationException("no_match", $"No signature in {header} is valid. Check that this is the secret, or "
                + "key, of this webhook, and that the body is exactly as it arrived.");

        internal static VerificationException TimestampSkew(long skew, long tolerance) =>
            new VerificationException("timestamp_skew", $"The request's time is {Math.Abs(skew)} s "
                + $"{(skew < 0 ? "behind" : "ahead of")} this clock, more than the {tolerance} s allowed: set the clock (NTP), "
                + "unless this is an old request sent again.", skewSeconds: skew);
    }
}
