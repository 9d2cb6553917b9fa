"""Recall of questions in Chinese, Japanese and Korean, on a small set written by hand.

Each of 20 statements of a language has a question in other words where the language
allows it. One agent remembers the statements of its language and is asked each question.

    python -m benchmarks.recall.east_asian
"""

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, configure, register_policy

#: statement | question
CHINESE = """
桥在第二天被洪水冲坏了。|哪座建筑因为大水不能用了？
会议改到星期二上午九点。|我们什么时候开会？
李梅搬到了上海，在医院工作。|李梅现在住在哪里？
王强借了我三百块钱。|谁欠我钱？
水井里的水有毒，不能喝。|井水安全吗？
市场今天的鱼比昨天便宜。|鱼的价格怎么样？
张伟的女儿下个月结婚。|谁家要办婚礼？
老师说图书馆周末不开门。|周末可以去图书馆吗？
我把钥匙放在厨房的抽屉里。|钥匙在哪儿？
村长同意修一条新路。|村长答应了什么？
昨晚磨坊着火了。|哪里发生了火灾？
陈医生建议我多休息。|医生给了什么建议？
面粉要等到春天才免费。|面粉什么时候不要钱？
小红不喜欢喝咖啡，她喝茶。|小红喜欢喝什么？
公司裁掉了五十名员工。|有多少人失业了？
刘洋学会了弹钢琴。|谁会演奏乐器？
火车晚点两个小时。|火车延误了多久？
邻居的狗咬了邮递员。|邮递员怎么受伤的？
我们用两袋米换了一只羊。|那只羊是怎么得到的？
选举的结果是赵敏当选市长。|谁成了新市长？
"""
JAPANESE = """
橋は二日目の洪水で壊れました。|大水で使えなくなったのは何ですか。
会議は火曜日の九時に変わりました。|会議はいつですか。
田中さんは大阪に引っ越して病院で働いています。|田中さんは今どこに住んでいますか。
鈴木さんは私に三千円借りています。|お金を返していないのは誰ですか。
井戸の水には毒があって飲めません。|井戸の水は安全ですか。
今日の魚は昨日より安かったです。|魚の値段はどうですか。
佐藤さんの娘は来月結婚します。|結婚式があるのは誰の家ですか。
図書館は週末に閉まると先生が言いました。|土曜日に図書館へ行けますか。
鍵は台所の引き出しに入れました。|鍵はどこにありますか。
村長は新しい道を作ることに賛成しました。|村長は何を認めましたか。
昨夜、水車小屋が燃えました。|火事はどこでしたか。
医者は私にもっと休むように言いました。|医者の助言は何ですか。
小麦粉は春から無料になります。|小麦粉はいつからただになりますか。
花子はコーヒーが嫌いで、お茶を飲みます。|花子は何が好きですか。
会社は五十人を解雇しました。|何人が仕事を失いましたか。
健はピアノが弾けるようになりました。|楽器を演奏できるのは誰ですか。
電車は二時間遅れました。|電車の遅れはどのくらいですか。
隣の犬が郵便配達の人をかみました。|郵便配達の人はなぜけがをしましたか。
米二袋を羊一頭と交換しました。|羊はどうやって手に入れましたか。
選挙で山本さんが市長に選ばれました。|新しい市長は誰ですか。
"""
KOREAN = """
다리는 둘째 날 홍수로 무너졌습니다.|큰물 때문에 못 쓰게 된 것은 무엇입니까?
회의는 화요일 아홉 시로 바뀌었습니다.|회의가 언제 열립니까?
민수는 부산으로 이사해서 병원에서 일합니다.|민수는 지금 어디에 삽니까?
영희가 나에게 삼천 원을 빌렸습니다.|누가 돈을 갚아야 합니까?
우물물에 독이 있어서 마실 수 없습니다.|우물은 안전합니까?
오늘 생선은 어제보다 쌉니다.|생선 가격은 어떻습니까?
철수의 딸이 다음 달에 결혼합니다.|누구 집에서 결혼식이 있습니까?
선생님이 도서관은 주말에 닫는다고 했습니다.|토요일에 도서관에 갈 수 있습니까?
열쇠를 부엌 서랍에 넣었습니다.|열쇠가 어디에 있습니까?
이장이 새 길을 만드는 데 찬성했습니다.|이장은 무엇을 허락했습니까?
어젯밤 방앗간에 불이 났습니다.|화재는 어디에서 일어났습니까?
의사가 나에게 더 쉬라고 했습니다.|의사의 조언은 무엇입니까?
밀가루는 봄부터 무료입니다.|밀가루는 언제 공짜가 됩니까?
수진은 커피를 싫어하고 차를 마십니다.|수진은 무엇을 좋아합니까?
회사가 직원 오십 명을 해고했습니다.|몇 사람이 일자리를 잃었습니까?
지훈이 피아노를 칠 수 있게 되었습니다.|누가 악기를 연주합니까?
기차가 두 시간 늦었습니다.|기차는 얼마나 연착했습니까?
이웃집 개가 우체부를 물었습니다.|우체부는 왜 다쳤습니까?
쌀 두 자루를 양 한 마리와 바꿨습니다.|양을 어떻게 얻었습니까?
선거에서 은주가 시장으로 뽑혔습니다.|새 시장은 누구입니까?
"""
SETS = {"Chinese": CHINESE, "Japanese": JAPANESE, "Korean": KOREAN}


def places(pairs: list[list[str]]) -> list[int]:
    """For each question, the place at which its statement is recalled, from 1."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline", execution="blocking")
    quiet = register_policy("quiet", lambda turn: "Nothing to do.")
    agent = LLMAgent(model, CoTReasoning, quiet)
    agent.memory = memory = EpisodicMemory(agent)
    for said, _ in pairs:
        memory.add_to_memory("message", {"message": said, "sender": 2})
        memory.process_step()
        model.step()
    found = []
    for said, question in pairs:
        ranked = memory.recall(question, k=len(pairs))
        texts = [each.record.content["message"] for each in ranked]
        found.append(texts.index(said) + 1 if said in texts else len(pairs) + 1)
    return found


def main() -> None:
    """Prints how many statements are recalled first, and among the first five."""
    for name, text in SETS.items():
        pairs = [line.split("|") for line in text.strip().splitlines()]
        found = places(pairs)
        first, five = sum(p == 1 for p in found), sum(p <= 5 for p in found)
        print(f"{name}: {len(pairs)} questions, first {first}, among five {five}")


if __name__ == "__main__":
    main()
