package hookferry

import "fmt"

// Code says why a request was refused. It does not change between versions.
type Code string

// The first three are mistakes of the receiver's configuration. New returns them.
const (
	MissingSecret  Code = "missing_secret"
	NotASecret     Code = "not_a_secret"
	NotAKey        Code = "not_a_key"
	MissingHeader  Code = "missing_header"
	TimestampSkew  Code = "timestamp_skew"
	NoMatch        Code = "no_match"
	InvalidPayload Code = "invalid_payload"
)

// VerificationError says why a request could not be verified, and what to do. It holds no secret.
type VerificationError struct {
	Code    Code
	Message string
	// Header is the name of the header, with MissingHeader.
	Header string
	// SkewSeconds is the request's time minus this clock's, with TimestampSkew. Negative: the request is too old.
	SkewSeconds int64
}

func (e *VerificationError) Error() string { return string(e.Code) + ": " + e.Message }

// IsConfigurationError says whether the receiver's configuration is wrong, so that no request can be verified.
func (e *VerificationError) IsConfigurationError() bool {
	return e.Code == MissingSecret || e.Code == NotASecret || e.Code == NotAKey
}

func missingHeader(name, what string) error {
	return &VerificationError{Code: MissingHeader, Message: fmt.Sprintf("The header %s %s.", name, what), Header: name}
}

func invalidPayload(what string) error {
	return &VerificationError{Code: InvalidPayload, Message: "The signature is valid, but the body " + what +
		". If the service sent it, read the body yourself after VerifySignature."}
}

func missingSecret(what string) error {
	return &VerificationError{Code: MissingSecret, Message: "There is no secret to verify with: " + what +
		". Set its variable, such as WEBHOOK_SECRET=whsec_…."}
}

func notASecret(why string) error {
	return &VerificationError{Code: NotASecret, Message: "This is not a signing secret: " + why +
		". Pass the webhook's \"secret\" as it was issued (whsec_…)."}
}

func notAKey(why string) error {
	return &VerificationError{Code: NotAKey, Message: "This is not a public key: " + why +
		". Pass \"public_key\" of the webhook as it is shown (whpk_…)."}
}
