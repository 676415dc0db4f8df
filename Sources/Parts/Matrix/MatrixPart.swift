import EventLoop
package import Program
package import Sidecar

/// The push gateway of Matrix, with the setting `MARTLET_MATRIX`: docs/http/matrix-api.md.
package enum MatrixPart: Part {
  package static let settings = [file]

  static let file = Setting(
    "MARTLET_MATRIX", in: .sidecar, as: .path,
    """
    JSON file with the apps of the [Matrix push gateway](http/matrix-api.md#the-file), which is served only \
    with it; a regular file of at most 1 MiB. Read again on SIGHUP.
    """,
    example: "/etc/martlet/matrix.json",
    "The apps of the Matrix push gateway, which is served only with this file. Read again on SIGHUP.")

  package static func add(to sidecar: inout SidecarConfiguration, _ reader: inout EnvironmentReader) {
    guard let file = MatrixFile(&reader) else { return }
    let apps = file.read(&reader)
    sidecar.apis.append { MatrixAPI($0, file, apps) }
  }
}
