import Foundation
import RepriseCommandLine

/// The programs that the lab starts; all stand beside each other.
enum LabProgram: String, Sendable {
    case lab = "reprise-lab"
    case reprise
    case crashLoop = "crash-loop"

    /// - Throws: ``CommandFailure`` `.unavailable` if it is not there.
    func url() throws -> URL {
        guard let own = Bundle.main.executableURL else {
            throw CommandFailure(.internal, "The tool does not find its own executable.")
        }
        guard self != .lab else { return own }
        let url = own.deletingLastPathComponent().appendingPathComponent(rawValue)
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw CommandFailure(
                .unavailable,
                "There is no \(url.path). Build it: swift build --traits Lab --product \(rawValue)."
            )
        }
        return url
    }
}
