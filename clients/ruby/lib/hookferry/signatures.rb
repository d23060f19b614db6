# frozen_string_literal: true

require "openssl"
require_relative "headers"

module Hookferry
  # @api private
  # The signed facts besides the body. X-Service-Signature covers neither of them.
  Signed = Struct.new(:id, :timestamp)

  # @api private
  # Checks the signatures of requests.
  class Signatures
    # The head of an Ed25519 key in DER (RFC 8410).
    DER_HEAD = ["302a300506032b6570032100"].pack("H*").freeze

    def initialize(secrets:, public_keys:, tolerance:, service_header:, service_prefix:)
      if secrets.empty? && public_keys.empty?
        raise missing_secret("secrets must have one or more")
      end

      @secrets = secrets.map { |secret| parse_secret(secret) }
      @keys = public_keys.map { |key| parse_key(key) }
      @tolerance = tolerance
      @service_header = service_header
      @service_prefix = service_prefix
    end

    # @return [Signed]
    def verify(body, headers, now)
      signatures = headers.read("webhook-signature")
      return verify_standard(body, signatures.split(" "), headers, now) if signatures
      if @secrets.empty?
        raise VerificationError.missing_header("webhook-signature", "is missing: check that no proxy removes it")
      end

      verify_service(body, headers)
      Signed.new
    end

    private

    def verify_standard(body, given, headers, now)
      id = headers.require("webhook-id")
      time = headers.require("webhook-timestamp")
      unless time.match?(/\A[0-9]{1,12}\z/)
        raise VerificationError.missing_header("webhook-timestamp", "is not a time in whole seconds")
      end

      require_fresh(time.to_i - now)
      message = "#{id}.#{time}.".b + body
      return Signed.new(id, time.to_i) if signed_by_secret?(given, message) || signed_by_key?(given, message)

      raise no_match("webhook-signature")
    end

    def signed_by_secret?(given, message)
      @secrets.any? do |_, decoded|
        expected = "v1,#{[OpenSSL::HMAC.digest("SHA256", decoded, message)].pack("m0")}"
        given.any? { |signature| OpenSSL.secure_compare(signature, expected) }
      end
    end

    def signed_by_key?(given, message)
      signatures = given.select { |signature| signature.start_with?("v1a,") }
      signatures.filter_map { |signature| decode_base64(signature.delete_prefix("v1a,")) }.any? do |bytes|
        bytes.bytesize == 64 && @keys.any? { |key| verifies?(key, bytes, message) }
      end
    end

    def verifies?(key, signature, message)
      key.verify(nil, signature, message)
    rescue OpenSSL::PKey::PKeyError
      false
    end

    def verify_service(body, headers)
      given = headers.read(@service_header)
      if given.nil?
        raise VerificationError.missing_header(
          "webhook-signature",
          "is missing, and so is #{@service_header}: pass all headers, and check that no proxy removes them"
        )
      end
      is_signed = @secrets.any? do |issued, _|
        OpenSSL.secure_compare(given, @service_prefix + OpenSSL::HMAC.hexdigest("SHA256", issued, body))
      end
      raise no_match(@service_header) unless is_signed
    end

    def require_fresh(skew)
      return if skew.abs <= @tolerance

      where = skew.negative? ? "behind" : "ahead of"
      raise VerificationError.new(
        :timestamp_skew,
        "The request's time is #{skew.abs} s #{where} this clock, more than the #{@tolerance} s allowed: " \
        "set the clock (NTP), unless this is an old request sent again.",
        skew_seconds: skew
      )
    end

    # White space around a secret is ignored: files often end with a line break.
    # @return the secret as it was issued, and the text after whsec_, decoded from base64
    def parse_secret(secret)
      raise missing_secret("the secret is not set") if secret.nil?

      issued = secret.strip
      encoded = issued.delete_prefix("whsec_")
      # With an empty key, anybody could make a valid HMAC.
      raise missing_secret("the secret is empty") if encoded.empty?
      raise not_a_secret("it is an API key") if issued.start_with?("whk_")
      raise not_a_secret("it has white space in it") if encoded.match?(/\s/)

      [issued, decode_base64(encoded) || raise(not_a_secret("it is not base64"))]
    end

    def parse_key(key)
      text = key.to_s.strip
      raise not_a_key("it is not set") if text.empty?
      raise not_a_key("it does not begin with whpk_") unless text.start_with?("whpk_")

      bytes = decode_base64(text.delete_prefix("whpk_"))
      raise not_a_key("it is not the base64 of 32 bytes") unless bytes&.bytesize == 32

      OpenSSL::PKey.read(DER_HEAD + bytes)
    end

    # With or without its padding.
    def decode_base64(text)
      stripped = text.sub(/=+\z/, "")
      return nil unless stripped.match?(%r{\A[A-Za-z0-9+/]*\z}) && stripped.length % 4 != 1

      stripped.unpack1("m")
    end

    def no_match(header)
      VerificationError.new(:no_match, "No signature in #{header} is valid. Check that this is the secret, or key, of this " \
                                       "webhook, and that the body is exactly as it arrived.")
    end

    def missing_secret(what)
      VerificationError.new(:missing_secret, "There is no secret to verify with: #{what}. " \
                                             "Set its variable, such as WEBHOOK_SECRET=whsec_….")
    end

    def not_a_secret(why)
      VerificationError.new(:not_a_secret, "This is not a signing secret: #{why}. " \
                                           "Pass the webhook's \"secret\" as it was issued (whsec_…).")
    end

    def not_a_key(why)
      VerificationError.new(:not_a_key, "This is not a public key: #{why}. " \
                                        "Pass \"public_key\" of the webhook as it is shown (whpk_…).")
    end
  end
end
