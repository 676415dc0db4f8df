/// What an operator should do about a connection to APNs that cannot be opened.
public enum ConnectionFix {
  /// Returns nil if the reason is not about TLS.
  public static func text(for reason: String) -> String? {
    if reason.contains("did not agree to HTTP/2") {
      return "enable HTTP/2 (ALPN h2) at the gateway or at the proxy that terminates TLS in front of it"
    }
    if reason.contains("mismatch") {
      return "use a certificate with the host as subjectAltName; the common name does not count"
    }
    if reason.contains("certificate") {
      return
        "set APNS_CA_CERT to the authority that signed the gateway's certificate (caCert of an app), "
        + "and check that the certificate is valid"
    }
    return nil
  }
}
