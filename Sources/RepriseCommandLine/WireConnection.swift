package import RepriseCore
package import RepriseWire

/// A connection after its hello: for the parts of the tool that use the wire protocol directly.
package struct WireConnection: Sendable {
    private let socket: any Socket
    private let server: String

    /// Dials, sends the hello and waits for the welcome.
    ///
    /// - Parameters:
    ///   - server: the address.
    ///   - dialer: opens the connection.
    ///   - token: authenticates, where the server requires it.
    /// - Returns: the connection.
    /// - Throws: ``RepriseError`` `.unreachable`, `.timedOut`, `.unavailable`, `.notReprise`,
    ///   `.refused`; ``SocketFailure``.
    package static func open(
        _ server: String, dialer: any SocketDialer, token: AccessToken? = nil
    ) async throws -> WireConnection {
        let socket = try await dialer.dial(
            url: server + WireHandshake.path, protocol: WireHandshake.subprotocol,
            maximumFrameBytes: WireLimits.frameBytes)
        let connection = WireConnection(socket: socket, server: server)
        do {
            try await connection.greet(token)
        } catch {
            await socket.close(code: CloseCode.normal.number)
            throw error
        }
        return connection
    }

    package func send(_ frames: [[UInt8]]) async throws { try await socket.send(frames) }

    package func close() async { await socket.close(code: CloseCode.normal.number) }

    /// Reads until the connection ends.
    ///
    /// - Parameter body: gets the frames that came together.
    /// - Throws: what `body` throws; ``RepriseError`` with the server's reason for closing.
    package func read(_ body: ([ServerFrame]) async throws -> Void) async throws {
        var decoder = FrameDecoder()
        var reason: (CloseCode, String)?
        while let batch = try await socket.receive() {
            var frames: [ServerFrame] = []
            frames.reserveCapacity(batch.count)
            for bytes in batch {
                guard let frame = try frame(bytes, &decoder) else { continue }
                if case .error(let code, let message) = frame { reason = (code, message) }
                frames.append(frame)
            }
            try await body(frames)
        }
        throw await ending(reason)
    }

    private func greet(_ token: AccessToken?) async throws {
        let hello = ClientFrame.Hello(
            device: .random(), client: ToolVersion.client, token: token)
        try await socket.send([ClientFrame.hello(hello).encoded()])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await welcome() }
            group.addTask {
                try await Task.sleep(for: .seconds(10))
                throw RepriseError(
                    .timedOut, "The server at \(server) did not greet in time.",
                    remedy: "Look at the server's log, and try again.")
            }
            try await group.next()
            group.cancelAll()
        }
    }

    private func welcome() async throws {
        var decoder = FrameDecoder()
        // Without subscriptions and messages, the welcome comes alone.
        guard let first = try await socket.receive()?.first else { throw await ending(nil) }
        switch try frame(first, &decoder) {
        case .welcome: return
        case .error(let code, let message): throw await ending((code, message))
        default: throw notReprise("greet")
        }
    }

    /// - Throws: ``RepriseError`` `.notReprise` for what is no frame: the server has sent it.
    private func frame(_ bytes: [UInt8], _ decoder: inout FrameDecoder) throws -> ServerFrame? {
        do { return try decoder.serverFrame(bytes) } catch {
            throw notReprise("speak", because: error)
        }
    }

    private func notReprise(_ verb: String, because cause: (any Error)? = nil) -> RepriseError {
        RepriseError(
            .notReprise, "What answers at \(server) does not \(verb) as a Reprise server does.",
            remedy: "Check host and port.", cause: cause)
    }

    /// The error of an `error` frame, or of a close frame without one.
    private func ending(_ reason: (code: CloseCode, words: String)?) async -> any Error {
        let closed = await socket.closeCode.map { CloseCode($0) }
        let code = reason?.code ?? closed  // the close frame is still on its way
        let words = reason?.words ?? code.map { "code \($0)" } ?? "no reason given"
        if code == .unauthorized || code == .tokenExpired {
            return RepriseError(
                .unauthorized, words, remedy: "Give --token, or --as with a --dev server.")
        }
        switch code?.advice {
        case .stop:
            return RepriseError(
                .refused, "The server has ended the connection: \(words)",
                remedy: "Check that tool and server are of the same version.")
        case .reconnect, .reconnectLater, nil:
            return RepriseError(
                .unavailable, "The server has ended the connection: \(words)",
                remedy: words.retryRemedy)
        }
    }
}
