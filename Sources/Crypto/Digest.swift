import COpenSSL

enum Digest {
  static func of(_ bytes: [UInt8], _ algorithm: OpaquePointer?, count: Int) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: count)
    let isComputed = EVP_Digest(bytes, bytes.count, &digest, nil, algorithm, nil) == 1
    precondition(isComputed, "every OpenSSL that can be linked here computes this digest")
    return digest
  }
}
