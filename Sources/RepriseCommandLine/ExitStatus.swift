package import RepriseCore

/// The tools' exit codes, by the numbers of sysexits(3).
package enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case incomplete = 1
    case usage = 64
    case badInput = 65
    case noInput = 66
    case unavailable = 69
    case `internal` = 70
    case cannotCreate = 73
    case diskFailed = 74
    case tryAgain = 75
    case `protocol` = 76
    case noPermission = 77
    case badConfiguration = 78

    package init(_ code: RepriseError.Code) {
        self = Self.byCode[code] ?? .internal
    }

    /// The part of a tool's help that lists them.
    package static let help =
        "EXIT CODES\n"
        + allCases.map { status in
            let number = "\(status.rawValue)"
            return "  " + number + String(repeating: " ", count: 4 - number.count) + status.meaning
        }
        .joined(separator: "\n")

    private var meaning: String {
        switch self {
        case .success: "done"
        case .incomplete: "the check failed, or the result is not complete"
        case .usage: "the command was not understood"
        case .badInput: "the input is invalid"
        case .noInput: "the input file cannot be read"
        case .unavailable: "no server answers, or it cannot take more now"
        case .internal: "a defect of Reprise; please report it"
        case .cannotCreate: "a file or folder cannot be created"
        case .diskFailed: "the disk is full, or failed"
        case .tryAgain: "busy: owned by another process, or the port is taken; try again"
        case .protocol: "the server is not a Reprise server, or it refuses"
        case .noPermission: "no permission to write there"
        case .badConfiguration: "the configuration cannot be used"
        }
    }

    private var remedy: String {
        switch self {
        case .success: ""
        case .incomplete: "Read the last line."
        case .usage: "Read `--help`."
        case .badInput: "Correct the input, or the path of the journal."
        case .noInput: "Check the path."
        case .unavailable, .tryAgain: "Retry later."
        case .internal: "Report it."
        case .cannotCreate, .noPermission: "Check the folder and its permissions."
        case .diskFailed: "Free space, or check the disk."
        case .protocol: "Check the address and the token."
        case .badConfiguration: "Follow the message."
        }
    }

    /// A row of `docs/errors.md`.
    package var reference: CodeReference {
        CodeReference("\(rawValue)", LimitText(stringLiteral: meaning), remedy)
    }

    private static let byCode: [RepriseError.Code: ExitStatus] = [
        .malformed: .badInput, .tooLarge: .badInput, .badID: .badInput,
        .badChannelName: .badInput, .notAJournal: .badInput, .journalNewer: .badInput,
        .corrupt: .badInput, .noSuchEntry: .badInput, .unknownKind: .badInput,
        .unreachable: .unavailable, .unavailable: .unavailable, .timedOut: .unavailable,
        .diskFull: .diskFailed, .diskFailed: .diskFailed,
        .journalOwned: .tryAgain, .ownershipLost: .tryAgain, .busy: .tryAgain,
        .portInUse: .tryAgain, .full: .tryAgain,
        .notReprise: .protocol, .refused: .protocol, .untrusted: .protocol,
        .unauthorized: .protocol, .tokenExpired: .protocol, .forbidden: .protocol,
        .notWritable: .noPermission,
        .badConfiguration: .badConfiguration, .badAddress: .badConfiguration,
    ]
}

/// A failure of the tool itself, which no code of the library names.
package struct CommandFailure: Error, CustomStringConvertible {
    package let status: ExitStatus
    package let message: String

    /// For people: a handler's error is kept in the journal, and shown by `reprise trace`.
    package var description: String { message }

    package init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}
