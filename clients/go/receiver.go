// Package hookferry receives and verifies webhooks. It needs the standard library alone.
package hookferry

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Options of a Receiver. It needs Secrets or PublicKeys.
type Options struct {
	// Secrets of the webhook as they were issued (whsec_…). Several during a rotation: a signature by any of them is valid.
	Secrets []string
	// PublicKeys of the webhook (whpk_…), for signing "ed25519" or "both". Without Secrets, only v1a signatures count.
	PublicKeys []string
	// Tolerance is the greatest difference of webhook-timestamp from now, in both directions. Default 300 s.
	Tolerance time.Duration
	// ServiceHeader and ServicePrefix are the operator's SIGNATURE_HEADER and SIGNATURE_PREFIX.
	// Default X-Service-Signature. The prefix is sha256= unless ServiceHeader is set.
	ServiceHeader, ServicePrefix string
	// BinaryCloudEvents accepts CloudEvents whose attributes are headers. No signature covers those headers.
	BinaryCloudEvents bool

	// Dedupe stores the ids of handled events, so that an event that arrives twice is handled once. Default: none.
	Dedupe DedupeStore
	// Lease is the longest time that a handler takes. Default 120 s. It has no effect without Dedupe.
	Lease time.Duration
	// InOrder leaves the events of a batch after one that failed unhandled, for a webhook with "ordering": "strict".
	InOrder bool
	// MaxBytes is the longest accepted body. Default 1.25 MiB.
	MaxBytes int64
	// OnError gets the cause of each webhook that was not handled. Default: it is logged.
	OnError func(error)
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

const (
	defaultTolerance = 300 * time.Second
	// Longer than the longest attempt (60 s): by then the service has given up waiting for the response.
	defaultLease = 120 * time.Second
	// The longest event is 256 KiB unless the operator of the service allows more.
	defaultMaxBytes int64 = 1_310_720
)

// Receiver verifies requests. It does not change, so goroutines may share it.
type Receiver struct {
	options Options
	secrets []secretKeys
	keys    []ed25519.PublicKey
}

type secretKeys struct {
	issued  []byte // of X-Service-Signature: the secret as it was issued
	decoded []byte // of Standard Webhooks: the text after whsec_, decoded from base64
}

// Signed are the signed facts besides the body. X-Service-Signature covers neither of them.
type Signed struct {
	// ID is webhook-id: the same on every attempt.
	ID string
	// Timestamp is the time at which this attempt was signed; zero if it was not signed.
	Timestamp time.Time
}

// New makes a receiver. Its error is a *VerificationError: missing_secret, not_a_secret or not_a_key.
func New(options Options) (*Receiver, error) {
	r := &Receiver{options: options}
	if len(options.Secrets) == 0 && len(options.PublicKeys) == 0 {
		return nil, missingSecret("Secrets must have one or more")
	}
	for _, secret := range options.Secrets {
		keys, err := parseSecret(secret)
		if err != nil {
			return nil, err
		}
		r.secrets = append(r.secrets, keys)
	}
	for _, key := range options.PublicKeys {
		parsed, err := parsePublicKey(key)
		if err != nil {
			return nil, err
		}
		r.keys = append(r.keys, parsed)
	}
	r.setDefaults()
	return r, nil
}

func (r *Receiver) setDefaults() {
	o := &r.options
	if o.Tolerance == 0 {
		o.Tolerance = defaultTolerance
	}
	if o.ServiceHeader == "" {
		o.ServiceHeader = "X-Service-Signature"
		if o.ServicePrefix == "" {
			o.ServicePrefix = "sha256="
		}
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.OnError == nil {
		o.OnError = func(err error) { log.Printf("Webhook not handled: %v", err) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// VerifySignature verifies a request and does not read its body. Pass the body as it arrived, and all headers.
//
// If there is a webhook-signature, it is verified by Standard Webhooks. Otherwise X-Service-Signature is verified.
// Its error is a *VerificationError with any code but invalid_payload: respond with 401.
func (r *Receiver) VerifySignature(body []byte, header http.Header) (Signed, error) {
	signatures, isStandard, err := readHeader(header, "webhook-signature")
	if err != nil {
		return Signed{}, err
	}
	if isStandard {
		return r.verifyStandard(body, header, strings.Split(signatures, " "))
	}
	if len(r.secrets) == 0 {
		return Signed{}, missingHeader("webhook-signature", "is missing: check that no proxy removes it")
	}
	return Signed{}, r.verifyService(body, header)
}

var timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)

func (r *Receiver) verifyStandard(body []byte, header http.Header, given []string) (Signed, error) {
	id, err := requireHeader(header, "webhook-id")
	if err != nil {
		return Signed{}, err
	}
	timestamp, err := requireHeader(header, "webhook-timestamp")
	if err != nil {
		return Signed{}, err
	}
	if !timestampForm.MatchString(timestamp) {
		return Signed{}, missingHeader("webhook-timestamp", "is not a time in whole seconds")
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	if err := r.requireFresh(seconds); err != nil {
		return Signed{}, err
	}
	message := append([]byte(id+"."+timestamp+"."), body...)
	signed := Signed{ID: id, Timestamp: time.Unix(seconds, 0).UTC()}
	for _, secret := range r.secrets {
		expected := "v1," + base64.StdEncoding.EncodeToString(sum(secret.decoded, message))
		for _, signature := range given {
			if hmac.Equal([]byte(signature), []byte(expected)) {
				return signed, nil
			}
		}
	}
	if r.isSignedByKey(given, message) {
		return signed, nil
	}
	return Signed{}, noMatch("webhook-signature")
}

func (r *Receiver) isSignedByKey(given []string, message []byte) bool {
	for _, signature := range given {
		if !strings.HasPrefix(signature, "v1a,") {
			continue
		}
		decoded, err := decodeBase64(strings.TrimPrefix(signature, "v1a,"))
		if err != nil || len(decoded) != ed25519.SignatureSize {
			continue
		}
		for _, key := range r.keys {
			if ed25519.Verify(key, message, decoded) {
				return true
			}
		}
	}
	return false
}

func (r *Receiver) verifyService(body []byte, header http.Header) error {
	name := r.options.ServiceHeader
	given, isThere, err := readHeader(header, name)
	if err != nil {
		return err
	}
	if !isThere {
		return missingHeader("webhook-signature",
			fmt.Sprintf("is missing, and so is %s: pass all headers, and check that no proxy removes them", name))
	}
	for _, secret := range r.secrets {
		expected := r.options.ServicePrefix + hex.EncodeToString(sum(secret.issued, body))
		if hmac.Equal([]byte(given), []byte(expected)) {
			return nil
		}
	}
	return noMatch(name)
}

func (r *Receiver) requireFresh(seconds int64) error {
	skew, tolerance := seconds-r.options.Now().Unix(), int64(r.options.Tolerance/time.Second)
	if skew <= tolerance && skew >= -tolerance {
		return nil
	}
	distance, where := skew, "ahead of"
	if skew < 0 {
		distance, where = -skew, "behind"
	}
	return &VerificationError{Code: TimestampSkew, SkewSeconds: skew, Message: fmt.Sprintf(
		"The request's time is %d s %s this clock, more than the %d s allowed: set the clock (NTP), unless this is an old request sent again.",
		distance, where, tolerance)}
}

func noMatch(header string) error {
	return &VerificationError{Code: NoMatch, Message: "No signature in " + header +
		" is valid. Check that this is the secret, or key, of this webhook, and that the body is exactly as it arrived."}
}

func sum(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}

// White space around a secret is ignored: files often end with a line break.
func parseSecret(secret string) (secretKeys, error) {
	issued := strings.TrimSpace(secret)
	encoded := strings.TrimPrefix(issued, "whsec_")
	if encoded == "" {
		// With an empty key, anybody could make a valid HMAC.
		return secretKeys{}, missingSecret("the secret is empty")
	}
	if strings.HasPrefix(issued, "whk_") {
		return secretKeys{}, notASecret("it is an API key")
	}
	if strings.ContainsAny(encoded, " \t\r\n") {
		return secretKeys{}, notASecret("it has white space in it")
	}
	decoded, err := decodeBase64(encoded)
	if err != nil {
		return secretKeys{}, notASecret("it is not base64")
	}
	return secretKeys{issued: []byte(issued), decoded: decoded}, nil
}

func parsePublicKey(key string) (ed25519.PublicKey, error) {
	text := strings.TrimSpace(key)
	if text == "" {
		return nil, notAKey("it is not set")
	}
	if !strings.HasPrefix(text, "whpk_") {
		return nil, notAKey("it does not begin with whpk_")
	}
	bytes, err := decodeBase64(strings.TrimPrefix(text, "whpk_"))
	if err != nil || len(bytes) != ed25519.PublicKeySize {
		return nil, notAKey("it is not the base64 of 32 bytes")
	}
	return bytes, nil
}

// With or without its padding.
func decodeBase64(text string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

var joinedValues = regexp.MustCompile(`,\s`)

// A header that came more than once is refused, because either value may be the wrong one. Proxies join the values
// by ", ". No value of the service has a comma before white space.
func readHeader(header http.Header, name string) (value string, isThere bool, err error) {
	var values []string
	for key, each := range header {
		if strings.EqualFold(key, name) {
			values = append(values, each...)
		}
	}
	if len(values) == 0 {
		return "", false, nil
	}
	if len(values) > 1 || joinedValues.MatchString(values[0]) {
		return "", false, missingHeader(strings.ToLower(name), "came more than once: check the proxy in front of this server")
	}
	return values[0], true, nil
}

func requireHeader(header http.Header, name string) (string, error) {
	value, _, err := readHeader(header, name)
	if err == nil && value == "" {
		err = missingHeader(name, "is missing: pass all headers, and check that no proxy removes it")
	}
	return value, err
}
