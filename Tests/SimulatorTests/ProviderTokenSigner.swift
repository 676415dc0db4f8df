import COpenSSL
import Foundation

@testable import Simulator

/// Signs provider tokens as a client does.
final class ProviderTokenSigner {
  private let key: OpaquePointer

  /// From a .p8 file.
  init(path: String) throws {
    guard let file = BIO_new_file(path, "r") else { throw CocoaError(.fileReadNoSuchFile) }
    defer { BIO_free(file) }
    guard let key = PEM_read_bio_PrivateKey(file, nil, nil, nil) else { throw CocoaError(.fileReadCorruptFile) }
    self.key = key
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// `bearer …`, with any header and claims.
  func authorization(
    header: String = #"{"alg":"ES256","kid":"SIMULATOR1"}"#, team: String = "SIMTEAM001",
    issuedAt: Int64 = Int64(Date().timeIntervalSince1970)
  ) -> String {
    let claims = #"{"iss":"\#(team)","iat":\#(issuedAt)}"#
    let signed = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
    return "bearer \(signed).\(base64URL(signature(of: Array(signed.utf8))))"
  }

  /// r and s, 32 bytes each.
  private func signature(of message: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var der = [UInt8](repeating: 0, count: 80)
    var count = der.count
    precondition(EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1)
    precondition(EVP_DigestSign(context, &der, &count, message, message.count) == 1)
    return der.withUnsafeBufferPointer { der in
      var start = der.baseAddress
      let pair = d2i_ECDSA_SIG(nil, &start, count)
      defer { ECDSA_SIG_free(pair) }
      var bytes = [UInt8](repeating: 0, count: 64)
      bytes.withUnsafeMutableBufferPointer {
        precondition(BN_bn2binpad(ECDSA_SIG_get0_r(pair), $0.baseAddress, 32) == 32)
        precondition(BN_bn2binpad(ECDSA_SIG_get0_s(pair), $0.baseAddress! + 32, 32) == 32)
      }
      return bytes
    }
  }

  private func base64URL(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString()
      .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
      .replacingOccurrences(of: "=", with: "")
  }
}
