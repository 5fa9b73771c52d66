import ArgumentParser
import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseJournal
import RepriseNIO
import RepriseWire

/// `reprise chat`: two people, two terminals, and whatever happens in between.
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Chat in a terminal.",
        usage: """
            reprise chat CHANNEL --as USER | --token TOKEN [--server URL]
                         [--with USER …] [--title TITLE]
                         [--journal DIR] [--patience SECONDS]
            """,
        discussion: """
            Shows the newest messages, missed ones, who types, and the state of the
            connection. What you write is recorded first and sent when possible: …
            waits here, ✓ is on the server, ✓✓ was delivered, ✓✓ read was read. Messages
            are unread until you press a key. /edit and /delete change your messages;
            /list shows your conversations, /go and /with lead to another one; /help
            lists the commands, Ctrl-D ends.

            --with begins a conversation: a private channel of that name and title, with
            these users as members. It is recorded first, and made when possible; one
            that you own already keeps its title, and gets the members. What the server
            refuses of it is shown with the reason: /retry asks again, /withdraw gives
            it up. Without a terminal such lines begin with "*".

            The server determines the user: one with --dev issues a token for --as USER,
            any other requires --token. Without authentication (neither --dev nor keys)
            messages have no author.

            Kill it in the middle of a sentence, kill the server, unplug the network:
            start it again, and nothing is lost or repeated. (After kill -9, `reset`
            restores the terminal.)

            If standard input or output is no terminal, each line of input is a message,
            and each message a line of output, "SEQ USER: TEXT", from where the last run
            stopped; at the end of the input it waits for the server, by default 10 s.
            A message that the server refuses is kept: `reprise dead-letters` lists it.

            The journal is in DIR/USER. Without --journal that is
            $XDG_STATE_HOME/reprise/chat, or ~/.local/state/reprise/chat.

            EXAMPLES
              reprise serve --dev                  a server, in a terminal of its own
              reprise chat general --as ada
              reprise chat general --as bob        in another terminal
              echo "on my way" | reprise chat general --as ada
              reprise chat team --as ada --with bob --with eve --title "The team"

            EXIT CODES
              0 ended; 1 something waits for the server still; 65 a message is too long;
              75 the same user chats here already; 76 a message or the token was refused
              (1, 65 and 76 only without a terminal); 77 no permission.
              All: reprise --help
            """)

    @Argument(help: .channel) var channel: String
    @OptionGroup var identity: IdentityOption
    @OptionGroup var server: ServerOption
    @Option(
        help: ArgumentHelp("Where journals are kept, a folder for each user.", valueName: "dir"))
    var journal: String?
    @Option(
        name: .customLong("with"),
        help: ArgumentHelp(
            "A member of the conversation that it begins; once for each.", valueName: "user"))
    var others: [String] = []
    @Option(help: "The title of the conversation that it begins.") var title: String?
    @Option(
        name: .customLong("patience"),
        help: ArgumentHelp(
            "How long the end of the input waits for the server.", valueName: "seconds"))
    var timeout = 10.0

    func validate() throws {
        guard timeout >= 0, timeout <= 86_400 else {
            throw ValidationError("--patience is between 0 and 86400 seconds.")
        }
        guard title == nil || !others.isEmpty else {
            throw ValidationError("--title is of a conversation that begins: give --with, too.")
        }
        do {
            _ = try ChannelName(channel)
            try ConversationLimits.check(title: title)
            for other in others { _ = try UserID(other) }
        } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
        let caller = try identity.caller(at: server)
        let named: UserID?
        do {
            named = try caller.user()
        } catch let failure as CommandFailure {
            throw ValidationError(failure.message)
        }
        guard let user = named?.text else {
            throw ValidationError("Say who you are: --as USER.")
        }
        guard !user.hasPrefix("."), !user.contains("/") else {
            throw ValidationError("The name is that of a folder too: without / and no . in front.")
        }
    }

    func run() async throws {
        guard let identity = try identity.caller(at: server).identity() else { return }
        let user = identity.user.text
        let folder = folder(of: user)
        try Journal.expectOwnFolder(folder, within: folder.deletingLastPathComponent())
        let reprise = try await AccountClient.open(
            at: folder, server: server.url, dialer: server.dialer, identity: identity,
            configuration: configuration)
        do {
            try await JournalUser.expect(identity.user, in: reprise, at: folder.path)
            if !others.isEmpty { try await begin(reprise) }
            try await chat(reprise, as: user)
        } catch {
            await reprise.close()
            throw error
        }
        await reprise.close()
    }

    private func folder(of user: String) -> URL {
        let environment = ProcessInfo.processInfo.environment
        let state =
            environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? (environment["HOME"] ?? ".") + "/.local/state"
        return URL(fileURLWithPath: journal ?? state + "/reprise/chat")
            .appendingPathComponent(user)
    }

    private var configuration: AccountClient.Configuration {
        var configuration = AccountClient.Configuration()
        configuration.transport = NIOTransport(authorities: server.authorities)
        return configuration
    }

    /// Begins the conversation; what is said in it follows when the server has made it.
    private func begin(_ reprise: AccountClient) async throws {
        _ = try await reprise.channels.record(
            ConversationChange(
                .make, try ChannelName(channel), title: title,
                users: try others.map { try UserID($0) }))
    }

    private func chat(_ reprise: AccountClient, as user: String) async throws {
        let (terminal, keys) = (RawTerminal(), ChatKeys())
        defer { terminal?.restore() }
        // A signal does not end it: what was said just before still gets its answer.
        let running = Task { try await reprise.run() }
        _ = try await Interruption.cancelling {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await running.value
                    return false
                }
                group.addTask {
                    guard let terminal else {
                        try await lines(reprise, as: user)
                        return true
                    }
                    var next: String? = channel
                    while let name = next {
                        next = try await screen(name, reprise, as: user, terminal, keys)
                    }
                    return true
                }
                defer {
                    running.cancel()
                    group.cancelAll()
                }
                while let isOver = try await group.next(), !isOver {}
            }
        }
    }

    /// Shows one channel until the person leaves it.
    ///
    /// - Returns: the channel to go on with; nil: none.
    private func screen(
        _ name: String, _ reprise: AccountClient, as user: String, _ terminal: RawTerminal,
        _ keys: ChatKeys
    ) async throws -> String? {
        let changed = Signal()
        let channel = try reprise.channel(name)
        let room = ChatRoom(channel, of: reprise.channels, user: user, changed: changed)
        try await channel.subscribe()
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                await room.follow(reprise.channels.connectionStates)
                return false
            }
            group.addTask {
                try await room.watchRefusals { await room.show($0) }
                return false
            }
            group.addTask {
                try await ChatKeyboard(
                    room: room, terminal: terminal, keys: keys, changed: changed
                ).run()
                return true
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next(), !isOver {}
            return await room.next
        }
    }

    /// - Throws: ``CommandFailure`` if a message could not be recorded, if the server has refused
    ///   one, or does not have all yet.
    private func lines(_ reprise: AccountClient, as user: String) async throws {
        let channel = try reprise.channel(channel)
        let room = ChatRoom(channel, of: reprise.channels, user: user, changed: Signal())
        let lines = ChatLines(room: room, channel: channel, timeout: .seconds(timeout))
        let watch = ChannelWatch(channel, asksAgain: true)
        let refused = try await lines.refused()
        try await lines.listen()
        do {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    await room.follow(reprise.channels.connectionStates)
                    return false
                }
                group.addTask {
                    try await watch.run()
                    return false
                }
                group.addTask {
                    try await lines.watchRefusals()
                    return false
                }
                group.addTask {
                    try await lines.output.wait()
                    return false
                }
                group.addTask {
                    try await lines.run()
                    return true
                }
                defer { group.cancelAll() }
                while let isOver = try await group.next(), !isOver {}
            }
        } catch is CancellationError {}
        // A signal ends the chat, and not the look at what it leaves.
        try await Task { try await check(lines, room, as: user, since: refused) }.value
    }

    /// Whether everything that was said is with the server.
    private func check(
        _ lines: ChatLines, _ room: ChatRoom, as user: String, since refused: [DeadLetter]
    ) async throws {
        let waiting = try await lines.waiting(within: ChatLines.ending)
        if let error = await room.unrecorded {
            throw CommandFailure(
                ExitStatus(error.code), "A message was not recorded. \(error.line)")
        }
        if let letter = try await lines.refused(after: refused) {
            throw CommandFailure(
                .protocol,
                "The server refuses the message \(letter.id): \(letter.reason.firstLine) It is kept: "
                    + "`reprise dead-letters --journal \(folder(of: user).path)` lists it.")
        }
        guard waiting == 0 else {
            if let error = await room.stopReason?.failure {
                throw CommandFailure(
                    ExitStatus(error.code),
                    "\(error.line) Messages or changes that wait for the server: \(waiting).")
            }
            let state = await room.snapshot.connection.firstLine
            throw CommandFailure(
                .incomplete,
                "Messages or changes that wait for the server: \(waiting) (\(state)). They are sent "
                    + "at the next start, or give it longer with --patience.")
        }
    }
}
