import Crypto
import Foundation
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@testable import ReprisePhone

@Suite(
    "Web Push in Chromium", .timeLimit(.minutes(1)), .enabled(if: Chromium.find() != nil))
struct PushChromiumTests {
    @Test(
        "the browser's own ciphers open a sealed push in a push handler, which shows its text"
    )
    func delivered() async throws {
        let sealed = Mutex<[[UInt8]]>([])
        let site = try await FakePushServer.start { request in
            switch request.path {
            case "/": return Self.file("text/html", "<!doctype html><title>push</title>")
            case "/worker.js": return Self.file("text/javascript", Self.worker)
            case "/push/b1":
                sealed.withLock { $0.append(request.body) }
                return .status(201)
            default: return .status(404)
            }
        }
        let chromium = try await Chromium.start()
        var failure: (any Error)?
        do {
            try await play(chromium, site, sealed: { sealed.withLock { $0 } })
        } catch {
            failure = error
        }
        await chromium.end()
        await site.stop()
        if let failure { throw failure }
    }

    private static func file(_ type: String, _ text: String) -> FakeAnswer {
        .status(200, headers: ["content-type": type], body: text)
    }

    private func play(
        _ chromium: Chromium, _ site: FakePushServer, sealed: () -> [[UInt8]]
    ) async throws {
        let devTools = try await DevTools.connect(to: chromium.address)
        let origin = site.url
        try await devTools.call(
            "Browser.grantPermissions",
            ["permissions": ["notifications"], "origin": .string(origin)])
        let target = try await devTools.call(
            "Target.createTarget", ["url": .string(origin + "/")])["targetId"]?.text
        let page = try await ChromiumPage.attach(to: try #require(target), of: devTools)
        var place: String?
        try await eventually("the page is there, not \(place ?? "nowhere")") {
            place = try await page.evaluate("location.href + document.readyState").text
            return place == origin + "/complete"
        }
        let keys = try #require(try await page.evaluate(Self.subscribe).text)
        try await push(keys, origin)
        let body = try #require(sealed().first)
        try await page.call("ServiceWorker.enable")
        // DevTools promise no delivery, and once in a CI run there was none: a push may come twice,
        // so it is sent again, and the tag leaves one notification of it.
        var sent = ContinuousClock.Instant.now - .seconds(3)
        try await eventually("it is shown") {
            if sent.duration(to: .now) > .seconds(2) {
                try await deliver(body, to: origin, in: page)
                sent = .now
            }
            return try await shown(page) != "[]"
        }
        #expect(
            try await shown(page) == #"[["Room","Grüße, 👋",true,"m1"]]"#,
            "title, text, silent, id of the message")
        await devTools.close()
    }

    private func deliver(_ body: [UInt8], to origin: String, in page: ChromiumPage) async throws {
        try await page.call(
            "ServiceWorker.deliverPushMessage",
            [
                "origin": .string(origin), "registrationId": "0",
                "data": .string(Data(body).base64EncodedString()),
            ])
    }

    /// Registers what the browser says, seals for it, and sends to where it listens.
    private func push(_ keys: String, _ origin: String) async throws {
        struct Keys: Decodable {
            let p256dh: String
            let auth: String
        }
        let folder = try TemporaryFolder()
        let key = try folder.write(P256.Signing.PrivateKey().pemRepresentation, to: "vapid.pem")
        var settings = WebPushSettings(keyFile: key, subject: "mailto:push@example.org")
        settings.allowsPrivate = true
        let provider = try WebPushProvider(settings, clock: SystemTimekeeper())
        let keys = try JSONDecoder().decode(Keys.self, from: Data(keys.utf8))
        let subscription = try WebPushSubscription(
            endpoint: origin + "/push/b1", key: keys.p256dh, secret: keys.auth)
        var hint = PushHint(kind: .alert, channel: try ChannelName("room"), seq: 7, head: 9)
        hint.id = try EntryID("m1")
        let push = Push(
            address: .webPush(subscription), hint: hint, title: "Room", body: "Grüße, 👋",
            isQuiet: true, expires: SystemTimekeeper().wall().advanced(by: .seconds(60)))
        let outcome = await provider.send(push)
        await provider.close()
        #expect(outcome == .accepted)
    }

    private func shown(_ page: ChromiumPage) async throws -> String {
        try await page.evaluate(
            """
            navigator.serviceWorker.ready.then(r => r.getNotifications()).then(all =>
              JSON.stringify(all.map(n => [n.title, n.body, n.silent, n.data.id])))
            """
        ).text ?? ""
    }

    /// What `pushManager.subscribe` does, without the vendor's service, which Chromium cannot do
    /// without: keys of the browser's own ciphers.
    private static let subscribe = #"""
        (async () => {
          const text = bytes => btoa(String.fromCharCode(...new Uint8Array(bytes)))
            .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
          const pair = await crypto.subtle.generateKey(
            {name: 'ECDH', namedCurve: 'P-256'}, true, ['deriveBits']);
          const auth = crypto.getRandomValues(new Uint8Array(16));
          const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
          const jwk = await crypto.subtle.exportKey('jwk', pair.privateKey);
          const kept = {jwk, auth: [...auth], raw: [...new Uint8Array(raw)]};
          await (await caches.open('keys')).put('/keys', new Response(JSON.stringify(kept)));
          await navigator.serviceWorker.register('/worker.js');
          await navigator.serviceWorker.ready;
          return JSON.stringify({p256dh: text(raw), auth: text(auth)});
        })()
        """#

    /// Opens by the words of RFC 8291 with the browser's ciphers: DevTools deliver what a push
    /// service would have opened before.
    private static let worker = #"""
        self.addEventListener('install', () => self.skipWaiting());
        self.addEventListener('activate', event => event.waitUntil(clients.claim()));
        self.addEventListener('push', event => event.waitUntil(show(event.data.text())));
        const utf8 = text => new TextEncoder().encode(text);
        const ecdh = {name: 'ECDH', namedCurve: 'P-256'};
        async function derived(input, salt, info, bits) {
          const key = await crypto.subtle.importKey('raw', input, 'HKDF', false, ['deriveBits']);
          return crypto.subtle.deriveBits({name: 'HKDF', hash: 'SHA-256', salt, info}, key, bits);
        }
        async function show(text) {
          const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
          const kept = await (await (await caches.open('keys')).match('/keys')).json();
          const [salt, end] = [bytes.slice(0, 16), 21 + bytes[20]];
          const [sender, sealed] = [bytes.slice(21, end), bytes.slice(end)];
          const own = await crypto.subtle.importKey('jwk', kept.jwk, ecdh, false, ['deriveBits']);
          const other = await crypto.subtle.importKey('raw', sender, ecdh, false, []);
          const shared = await crypto.subtle.deriveBits({name: 'ECDH', public: other}, own, 256);
          const info = new Uint8Array([...utf8('WebPush: info\0'), ...kept.raw, ...sender]);
          const input = await derived(shared, new Uint8Array(kept.auth), info, 256);
          const raw = await derived(input, salt, utf8('Content-Encoding: aes128gcm\0'), 128);
          const iv = await derived(input, salt, utf8('Content-Encoding: nonce\0'), 96);
          const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt']);
          const plain = new Uint8Array(await crypto.subtle.decrypt({name: 'AES-GCM', iv}, key, sealed));
          const json = new TextDecoder().decode(plain.slice(0, plain.lastIndexOf(2)));
          const message = JSON.parse(json);
          await self.registration.showNotification(message.title, {
            body: message.body, tag: message.tag, silent: message.silent === true,
            data: message.reprise});
        }
        """#
}
