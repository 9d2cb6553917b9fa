"""Connections that are kept."""

import asyncio

from mesa_memory.llm.providers.connections import READ_BYTES, connections

SIZE = 300_000


def test_a_connection_reads_few_bytes_at_once_and_all_of_them():
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n"
        writer.write(head.encode() + b"x" * SIZE)
        await writer.drain()
        writer.close()

    async def ask():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        response = await connections.session().get(f"http://127.0.0.1:{port}/")
        at_once = response.connection.transport.max_size
        body = await response.read()
        await connections.session().close()
        server.close()
        return at_once, len(body)

    assert asyncio.run(ask()) == (READ_BYTES, SIZE)
