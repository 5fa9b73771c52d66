package import RepriseCore

/// The codes that chains and the standard workers add, in the order of `docs/errors.md`.
package enum ChainsErrorCode: String, CaseIterable, Sendable {
    case noSuchChain, chainNotEnded, unknownWorker
    case outsideSandbox, addressRefused, noSuchFile, fileExists, checksumMismatch

    package var reference: CodeReference {
        let (meaning, remedy) = text
        return CodeReference(rawValue, meaning, remedy)
    }

    private var text: (meaning: LimitText, remedy: String) {
        switch self {
        case .noSuchChain:
            ("No chain has this id, or it was removed after its retention.", "List the chains.")
        case .chainNotEnded:
            ("The chain has not ended.", "Cancel it, and wait until it has.")
        case .unknownWorker: ("No worker of this identifier is registered.", "Register it.")
        case .outsideSandbox: ("A path leaves the sandbox, or contains a link.", "Correct it.")
        case .addressRefused: ("The app must not access the URL's address.", "Use another URL.")
        case .noSuchFile: ("The file does not exist.", "Check the path.")
        case .fileExists: ("The file exists and must not be replaced.", "Use another path.")
        case .checksumMismatch:
            ("The content differs from its expected checksum.", "Check the source.")
        }
    }
}
