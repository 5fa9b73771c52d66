import RepriseCore

/// The tool's exit codes, by the numbers of sysexits(3).
///
/// `reprise --help` lists them.
enum ExitStatus: Int32 {
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

    init(_ code: RepriseError.Code) {
        self = Self.byCode[code] ?? .internal
    }

    private static let byCode: [RepriseError.Code: ExitStatus] = [
        .malformed: .badInput, .tooLarge: .badInput, .badID: .badInput,
        .badChannelName: .badInput, .notAJournal: .badInput, .journalNewer: .badInput,
        .corrupt: .badInput, .noSuchEntry: .badInput,
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
struct CommandFailure: Error {
    let status: ExitStatus
    let message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}
